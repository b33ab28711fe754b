/** Does `work` for all of `items`, so many at a time. After the first failure, which it rejects with, no other begins. */
export async function inParallel<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const workOn = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await work(item);
      } catch (failure) {
        left.length = 0;
        throw failure;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, workOn));
}
