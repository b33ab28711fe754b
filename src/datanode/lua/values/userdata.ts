/** What scripts only hand around: of all values only `cjson.null` is one. It equals itself alone. */
export class LuaUserdata {
  /** What `tostring` says of it. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** `cjson.null`, which a reply shows as nil. */
export const NULL = new LuaUserdata('userdata: (nil)');
