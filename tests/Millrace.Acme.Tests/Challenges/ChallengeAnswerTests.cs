using System.Formats.Asn1;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Acme.Challenges;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Tests.Challenges;

/// <summary>The forms of answers.</summary>
public sealed class ChallengeAnswerTests
{
    [Theory]
    [InlineData("example.org", "example.org")]
    [InlineData("192.0.2.7", "7.2.0.192.in-addr.arpa")]
    [InlineData("2001:db8::1", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa")]
    public void The_server_name_of_an_address_is_its_reverse_name(string name, string expected) =>
        Assert.Equal(expected, ChallengeAnswers.ServerName(AcmeIdentifier.Of(name)));

    [Theory]
    [InlineData("example.org")]
    [InlineData("192.0.2.7")]
    public void The_certificate_of_a_handshake_has_the_digest_in_a_critical_extension(string name)
    {
        using var account = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var authorization = new KeyAuthorization("token", account);
        using X509Certificate2 certificate =
            ChallengeAnswers.TlsAlpnCertificate(AcmeIdentifier.Of(name), authorization, DateTimeOffset.UnixEpoch.AddYears(50));
        X509Extension proof = certificate.Extensions["1.3.6.1.5.5.7.1.31"]!;
        Assert.True(proof.Critical);
        Assert.Equal(SHA256.HashData(Encoding.ASCII.GetBytes(authorization.Text)), AsnDecoder.ReadOctetString(proof.RawData, AsnEncodingRules.DER, out _));
        var names = certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>().Single();
        Assert.Equal([name], names.EnumerateDnsNames().Concat(names.EnumerateIPAddresses().Select(static address => address.ToString())));
        Assert.True(certificate.HasPrivateKey);
        Assert.NotEmpty(certificate.GetECDsaPrivateKey()!.ExportPkcs8PrivateKey());
        Assert.InRange(DateTimeOffset.UnixEpoch.AddYears(50).UtcDateTime, certificate.NotBefore.ToUniversalTime(), certificate.NotAfter.ToUniversalTime());
    }

    [Fact]
    public async Task A_table_allocates_nothing_when_it_is_asked()
    {
        var table = new ChallengeTable();
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 certificate =
            ChallengeAnswers.TlsAlpnCertificate(AcmeIdentifier.Of("a.example"), new KeyAuthorization("t", key), DateTimeOffset.UtcNow);
        Ask();
        table.AddHttp("the-token", "the-token.thumbprint");
        table.AddTlsAlpn("a.example", certificate);
        Assert.Equal("the-token.thumbprint"u8.ToArray(), (await table.FindKeyAuthorizationAsync("the-token")).ToArray());
        Assert.Same(certificate, await table.FindCertificateAsync("a.example"));
        Ask();
        long before = GC.GetAllocatedBytesForCurrentThread();
        Ask();
        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());
        table.RemoveHttp("the-token");
        table.RemoveTlsAlpn("a.example");
        Assert.True((await table.FindKeyAuthorizationAsync("the-token")).IsEmpty);
        Assert.Null(await table.FindCertificateAsync("a.example"));

        void Ask()
        {
            table.TryGetKeyAuthorization("the-token", out _);
            table.TryGetKeyAuthorization("another", out _);
            table.TryGetCertificate("a.example", out _);
            table.TryGetCertificate("b.example", out _);
        }
    }
}
