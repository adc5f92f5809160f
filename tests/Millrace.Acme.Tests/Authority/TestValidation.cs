using System.Buffers.Text;
using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Millrace.Acme.Tests.Authority;

/// <summary>The authority's look at a challenge, as RFC 8555, RFC 8737 and RFC 8738 describe it.</summary>
internal static class TestValidation
{
    /// <summary>Why it is not proved; null if it is.</summary>
    public static string? Fault(TestChallenge challenge, string thumbprint, IReadOnlyList<ChallengeTable> tables, string? dnsFile)
    {
        string expected = $"{challenge.Token}.{thumbprint}";
        byte[] digest = SHA256.HashData(Encoding.ASCII.GetBytes(expected));
        string host = challenge.Authorization.Host;
        switch (challenge.Type)
        {
            case "http-01":
                string? body = tables
                    .Select(table => table.FindKeyAuthorizationAsync(challenge.Token).AsTask().GetAwaiter().GetResult())
                    .Where(static found => !found.IsEmpty)
                    .Select(static found => Encoding.ASCII.GetString(found.Span))
                    .FirstOrDefault();
                return body == expected ? null : $"the answer is '{body}'";
            case "tls-alpn-01":
                X509Certificate2? certificate = tables
                    .Select(table => table.FindCertificateAsync(ServerName(host)).AsTask().GetAwaiter().GetResult())
                    .FirstOrDefault(static found => found is not null);
                return certificate is null ? "no handshake" : Fault(certificate, host, digest);
            default:
                string line = $"_acme-challenge.{host} {Base64Url.EncodeToString(digest)}";
                return dnsFile is not null && File.Exists(dnsFile) && File.ReadAllLines(dnsFile).Contains(line) ? null : $"no record {line}";
        }
    }

    private static string? Fault(X509Certificate2 certificate, string host, byte[] digest)
    {
        X509Extension? proof = certificate.Extensions.FirstOrDefault(static extension => extension.Oid?.Value == "1.3.6.1.5.5.7.1.31");
        var names = certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>().Single();
        string[] all = [.. names.EnumerateDnsNames(), .. names.EnumerateIPAddresses().Select(static address => address.ToString())];
        return !certificate.HasPrivateKey ? "the certificate has no key"
            : all is not [var only] || only != host ? $"the certificate is for {string.Join(", ", all)}"
            : proof is not { Critical: true } ? "no critical acmeIdentifier"
            : !proof.RawData.AsSpan().SequenceEqual((byte[])[0x04, 0x20, .. digest]) ? "the acmeIdentifier is wrong"
            : null;
    }

    private static string ServerName(string host)
    {
        if (!IPAddress.TryParse(host, out IPAddress? address))
        {
            return host;
        }

        return host.Contains(':', StringComparison.Ordinal)
            ? string.Join('.', address.GetAddressBytes().Reverse().SelectMany(static b => new[] { b & 0xf, b >> 4 }).Select(static n => $"{n:x}")) + ".ip6.arpa"
            : string.Join('.', host.Split('.').Reverse()) + ".in-addr.arpa";
    }
}
