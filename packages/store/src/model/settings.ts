export interface SettingReader {
  get<T>(name: string): Promise<T | null>
}

export interface SettingWriter {
  set(name: string, value: unknown): Promise<void>
}
