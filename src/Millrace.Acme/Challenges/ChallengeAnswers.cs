using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Challenges;

/// <summary>Answers to challenges in the forms that are not the key authorization itself.</summary>
internal static class ChallengeAnswers
{
    /// <summary>The SNI of the authority's handshake: the host, or an address's name for reverse look-ups (RFC 8738, section 6).</summary>
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
    public static X509Certificate2 TlsAlpnCertificate(AcmeIdentifier identifier, KeyAuthorization keyAuthorization, DateTimeOffset now)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=ACME challenge", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(SubjectNames.Extension([identifier]));

        // An OCTET STRING of 32 bytes.
        byte[] value = [0x04, 0x20, .. keyAuthorization.Digest];
        request.CertificateExtensions.Add(new X509Extension("1.3.6.1.5.5.7.1.31", value, critical: true));
        return request.CreateSelfSigned(now.AddDays(-1), now.AddDays(7));
    }
}
