import type { ChannelKind } from '../channel-kind.ts'
import { discord } from './discord/index.ts'
import { email } from './email/index.ts'
import { gotify } from './gotify/index.ts'
import { ntfy } from './ntfy/index.ts'
import { slack } from './slack/index.ts'
import { teams } from './teams/index.ts'
import { telegram } from './telegram/index.ts'
import { webhook } from './webhook/index.ts'

/** A new kind is a folder and a line here. */
export const channelKinds: readonly ChannelKind[] = [email, slack, discord, telegram, teams, ntfy, gotify, webhook]

export function kindOf(name: string): ChannelKind | null {
  return channelKinds.find((kind) => kind.name === name) ?? null
}
