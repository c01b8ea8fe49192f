import { z } from 'zod'
import { channelKind, secretText, textSetting } from '../../channel-kind.ts'

const mailbox = (description: string) =>
  z
    .string()
    .max(320)
    .regex(/^[^\s<>",;:()@[\]\\]+@[^\s<>",;:()@[\]\\]+$/, 'must be an e-mail address')
    .meta({ description })

export const email = channelKind({
  name: 'email',
  label: 'E-mail',
  settings: z.strictObject({
    host: textSetting('The SMTP server: smtp.example.org', 253).regex(
      /^[A-Za-z0-9.:_-]+$/,
      'must be a host name or an IP address',
    ),
    port: z.int().min(1).max(65535).default(587).meta({ description: '587 for STARTTLS, 465 for TLS.' }),
    security: z
      .enum(['starttls', 'tls', 'none'])
      .default('starttls')
      .meta({ description: 'Certificates are checked. none: passwords and messages go unencrypted.' }),
    user: textSetting('Who logs in; empty for nobody.').nullable().default(null),
    password: secretText('Its password.').nullable().default(null).meta({ writeOnly: true }),
    from: mailbox('The sender.'),
    to: z.array(mailbox('A receiver.')).min(1).max(20).meta({ description: 'Who gets it.' }),
  }),
  destinations: ['host', 'port', 'security'],
  address: ({ host, to }) => `${to[0]}${to.length === 1 ? '' : ` and ${to.length - 1} more`} by ${host}`,
  send: async (message, settings, outside) => {
    // Loaded when the first mail is sent: most instances send none.
    const { sendMail } = await import('./send-mail.ts')
    return sendMail(message, settings, outside)
  },
})
