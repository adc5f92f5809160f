using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;

namespace Millrace.Acme.Protocol;

/// <summary>What proves that the owner of an account's key answers a challenge (RFC 8555, section 8.1). Immutable.</summary>
internal sealed class KeyAuthorization(string token, ECDsa key)
{
    /// <summary>The body for HTTP-01 (RFC 8555, section 8.3).</summary>
    public string Text { get; } = $"{token}.{JsonWebSignature.Thumbprint(key)}";

    /// <summary>The content of the extension <c>acmeIdentifier</c> for TLS-ALPN-01 (RFC 8737, section 3).</summary>
    public byte[] Digest => SHA256.HashData(Encoding.ASCII.GetBytes(Text));

    /// <summary>The value of the TXT record for DNS-01 (RFC 8555, section 8.4).</summary>
    public string DnsValue => Base64Url.EncodeToString(Digest);
}
