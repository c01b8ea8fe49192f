import { z } from 'zod'
import {
  addressSetting,
  channelKind,
  hostOf,
  type PostAnswer,
  secretText,
  shortened,
  textSetting,
  under,
} from '../../channel-kind.ts'

export const telegram = channelKind({
  name: 'telegram',
  label: 'Telegram',
  settings: z.strictObject({
    token: secretText('The bot’s token, from @BotFather: 123456:ABC…').regex(
      /^\d+:[A-Za-z0-9_-]+$/,
      'must be the token of a bot: 123456:ABC…',
    ),
    chatId: textSetting('Id of the chat, or @name of a channel. The bot must be a member of it.', 100),
    serverUrl: addressSetting('The Bot API server, if it is one of your own.').default('https://api.telegram.org'),
  }),
  destinations: ['serverUrl'],
  address: ({ serverUrl, chatId }) => `${hostOf(serverUrl)}, chat ${chatId}`,
  send: async (message, { token, chatId, serverUrl }, outside) => {
    const text = shortened(message.text, 3500)
    const lines = [`<b>${escapeText(message.title)}</b>`, ...(text === '' ? [] : [escapeText(text)])]
    const answer = await outside.post(under(serverUrl, `bot${token}/sendMessage`), {
      chat_id: chatId,
      text: [...lines, `<a href="${escapeText(message.link)}">Open in Stackquay</a>`].join('\n'),
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    })
    return { ...answer, retryAfterSeconds: retryAfterOf(answer) }
  },
})

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const Refused = z.object({ parameters: z.object({ retry_after: z.number() }) })

/** It asks for patience in the body. */
function retryAfterOf({ answer, retryAfterSeconds }: PostAnswer): number | null {
  try {
    const refused = Refused.safeParse(JSON.parse(answer))
    return refused.success ? refused.data.parameters.retry_after : retryAfterSeconds
  } catch {
    return retryAfterSeconds
  }
}
