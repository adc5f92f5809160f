using System.Security.Cryptography;

namespace Millrace.Acme.Protocol;

/// <summary>An account with a certificate authority. Its key signs requests (ES256). The owner of the key disposes of it.</summary>
/// <param name="Key">On P-256.</param>
/// <param name="Url">The account's URL, which is its key id: to store it, keep its <see cref="Uri.OriginalString"/>.</param>
internal sealed record AcmeAccount(ECDsa Key, Uri Url);
