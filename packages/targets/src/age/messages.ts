export type AgeAct =
  | { readonly do: 'new-identity' }
  | { readonly do: 'recipient'; readonly identity: string }
  | { readonly do: 'encrypt'; readonly bytes: Uint8Array; readonly recipient: string }
  | { readonly do: 'decrypt'; readonly bytes: Uint8Array; readonly identity: string }
  | { readonly do: 'encrypt-with-passphrase'; readonly bytes: Uint8Array; readonly passphrase: string }
  | { readonly do: 'decrypt-with-passphrase'; readonly bytes: Uint8Array; readonly passphrase: string }

export interface AgeRequest {
  readonly id: number
  readonly act: AgeAct
}

export type AgeAnswer =
  | { readonly id: number; readonly bytes: Uint8Array }
  | { readonly id: number; readonly error: string }
