using System.Buffers.Text;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Challenges;

/// <summary>What proves that the holder of an account's key controls a name, in the form of each type of challenge.</summary>
internal static class KeyAuthorization
{
    /// <summary>The token and the key's thumbprint (RFC 8555, section 8.1; RFC 7638).</summary>
    public static string Of(string token, ECDsa accountKey)
    {
        ECParameters key = accountKey.ExportParameters(includePrivateParameters: false);
        string jwk = $$"""{"crv":"P-256","kty":"EC","x":"{{Base64Url.EncodeToString(key.Q.X)}}","y":"{{Base64Url.EncodeToString(key.Q.Y)}}"}""";
        return $"{token}.{Base64Url.EncodeToString(SHA256.HashData(Encoding.ASCII.GetBytes(jwk)))}";
    }

    /// <summary>The value of the TXT record (RFC 8555, section 8.4).</summary>
    public static string DnsValue(string keyAuthorization) =>
        Base64Url.EncodeToString(SHA256.HashData(Encoding.ASCII.GetBytes(keyAuthorization)));

    /// <summary>The SNI of the authority's handshake: the host, or an address as its name for reverse look-ups (RFC 8738, section 6).</summary>
    public static string ServerName(AcmeIdentifier identifier)
    {
        if (identifier.Type != "ip")
        {
            return identifier.Value;
        }

        IPAddress address = IPAddress.Parse(identifier.Value);
        byte[] bytes = address.GetAddressBytes();
        return address.AddressFamily == AddressFamily.InterNetwork
            ? string.Join('.', bytes.Reverse().Select(static b => b.ToString(CultureInfo.InvariantCulture))) + ".in-addr.arpa"
            : string.Join('.', Convert.ToHexStringLower(bytes).Reverse()) + ".ip6.arpa";
    }

    /// <summary>The certificate of the answer to TLS-ALPN-01 (RFC 8737, section 3), with its private key. The caller owns it.</summary>
    public static X509Certificate2 TlsAlpnCertificate(AcmeIdentifier identifier, string keyAuthorization, DateTimeOffset now)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=ACME challenge", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(SubjectNames.Extension([identifier]));

        // An OCTET STRING of 32 bytes.
        byte[] value = [0x04, 0x20, .. SHA256.HashData(Encoding.ASCII.GetBytes(keyAuthorization))];
        request.CertificateExtensions.Add(new X509Extension("1.3.6.1.5.5.7.1.31", value, critical: true));
        return request.CreateSelfSigned(now.AddDays(-1), now.AddDays(7));
    }
}
