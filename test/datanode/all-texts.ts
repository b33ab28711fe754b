/** All texts of up to `length` of the characters. */
export function allTexts(characters: string, length: number): string[] {
  const texts = [''];
  for (let from = 0, left = length; left > 0; left--) {
    const end = texts.length;
    for (; from < end; from++) {
      for (const character of characters) texts.push(`${texts[from]}${character}`);
    }
  }
  return texts;
}
