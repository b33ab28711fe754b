export function pythonWithRedis(): string | undefined;
