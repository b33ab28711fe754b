/** What INFO tells about the doors since the node started (or since CONFIG RESETSTAT). */
export interface CommandStat {
  calls: number;
  microseconds: number;
}

export class ServerStats {
  connections = 0;
  rejected = 0;
  commands = 0;
  inputBytes = 0;
  outputBytes = 0;
  readonly byCommand = new Map<string, CommandStat>();

  /** `microseconds`: from the request's arrival to its reply. */
  count(command: string, microseconds: number): void {
    this.commands++;
    const stat = this.byCommand.get(command);
    if (stat === undefined) {
      this.byCommand.set(command, { calls: 1, microseconds });
    } else {
      stat.calls++;
      stat.microseconds += microseconds;
    }
  }

  reset(): void {
    this.connections = 0;
    this.rejected = 0;
    this.commands = 0;
    this.inputBytes = 0;
    this.outputBytes = 0;
    this.byCommand.clear();
  }
}
