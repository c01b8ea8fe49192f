export interface NotificationChannelsTable {
  id: string
  name: string
  kind: string
  /** JSON, without what is secret of it: that is sealed apart. */
  settings: string
  events: string
  projects: string
  /** JSON or null. */
  quiet_hours: string | null
  cooldown_minutes: number
  enabled: number
  created_at: string
}

/** What is remembered of one thing in one channel. */
export interface NotificationGroupsTable {
  channel: string
  key: string
  state: string
  due_at: string | null
}

export interface NotificationDeliveriesTable {
  id: string
  channel: string
  message: string
  state: string
  attempts: string
  next_attempt_at: string | null
  created_at: string
}
