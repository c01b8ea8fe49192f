import type { Share } from '@stackquay/contract'
import type { Context } from '../context.ts'
import { plainText } from '../output/plain-text.ts'
import { stateCell } from '../output/state.ts'
import { fields } from '../output/table.ts'
import { ago, duration } from '../output/time.ts'
import { qrCode } from './qr-code.ts'

export function shareText(share: Share, { style, world }: Context): string {
  const { text, paint = (plain: string) => plain } = stateCell(looks[share.state], style.colors)
  const left = Date.parse(share.expiresAt) - world.now()
  return fields(
    [
      ['URL', share.url === null ? '-' : plainText(share.url)],
      [
        'State',
        `${paint(`${text.split(' ')[0]} ${share.state}`)}${share.detail === null ? '' : `: ${plainText(share.detail)}`}`,
      ],
      ['Ends', left <= 0 ? 'now' : `in ${duration(left)}`],
      ['Password', share.hasPassword ? 'yes' : 'none'],
      ['Shows', share.workload ?? 'the project'],
      ['Through', share.provider],
      ['Viewers', String(share.viewers)],
      ['Made', `${ago(share.createdAt, world.now())} by ${plainText(share.actor)}`],
    ],
    style,
  )
}

const looks = { open: 'ok', connecting: 'starting', failed: 'failed' } as const

/** The address alone where another program reads it; on a terminal with a code for the camera of a phone. */
export function shareLink(url: string, context: Context, code: boolean | undefined): string {
  const wanted = code ?? (context.world.stdout.isTTY === true && !context.quiet)
  return wanted ? `${plainText(url)}\n\n${qrCode(url, context.style.colors)}` : plainText(url)
}
