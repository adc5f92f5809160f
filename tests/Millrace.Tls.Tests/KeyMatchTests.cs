using System.Formats.Asn1;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>A key that cannot sign for its certificate is refused before a client could meet it.</summary>
public class KeyMatchTests : TlsTest
{
    [Theory]
    [InlineData("rsa", "ecdsa")]
    [InlineData("ecdsa", "rsa")]
    [InlineData("rsa", "ed25519")]
    [InlineData("ed25519", "rsa")]
    [InlineData("ecdsa", "ed25519")]
    [InlineData("ed25519", "ecdsa")]
    [InlineData("ecdsa", "p384")]
    [InlineData("p384", "ecdsa")]
    [InlineData("rsa", "rsa-pss")]
    [InlineData("ed25519", "ed448")]
    [InlineData("ecdsa", "ecdsa")]
    [InlineData("p384", "p384")]
    [InlineData("rsa", "rsa")]
    [InlineData("ed25519", "ed25519")]
    public async Task A_key_that_is_not_the_certificates_is_refused_with_both_files_named(string certificate, string key)
    {
        CertificateFiles own = await Pem.MakeOfKindAsync("own-" + certificate, certificate, "a.example");
        CertificateFiles other = await Pem.MakeOfKindAsync("other-" + key, key, "a.example");
        TlsException refusal = Assert.Throws<TlsException>(() => Terminate(TlsOptions(own with { Key = other.Key })));
        Assert.Contains($"'{other.Key}'", refusal.Message, StringComparison.Ordinal);
        Assert.Contains($"'{own.Certificate}'", refusal.Message, StringComparison.Ordinal);
        Assert.Contains("does not match the certificate", refusal.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("rsa", "ecdsa")]
    [InlineData("ecdsa", "rsa")]
    [InlineData("rsa", "ed25519")]
    public async Task A_key_of_another_kind_at_a_reload_keeps_the_pair_in_use(string certificate, string key)
    {
        CertificateFiles own = await Pem.MakeOfKindAsync("own", certificate, "a.example");
        CertificateFiles other = await Pem.MakeOfKindAsync("other", key, "a.example");
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions(own));
        File.Copy(other.Key, own.Key, overwrite: true);
        Assert.False(Terminator.TryReload());
        Assert.Contains($"'{own.Key}'", Assert.Single(Log.Entries, static entry => entry.Id == 603).Text, StringComparison.Ordinal);
        SslStream stream = await ConnectTlsAsync(listener);
        Assert.Equal("CN=a.example", stream.RemoteCertificate!.Subject);
    }

    [Fact]
    public async Task Of_a_pair_for_one_host_each_key_is_looked_at()
    {
        CertificateFiles rsa = await Pem.MakeOfKindAsync("rsa", "rsa", "a.example");
        CertificateFiles ecdsa = await Pem.MakeOfKindAsync("ecdsa", "ecdsa", "a.example");
        TlsException refusal = Assert.Throws<TlsException>(() => Terminate(TlsOptions(rsa, ecdsa with { Key = rsa.Key })));
        Assert.Contains("does not match the certificate", refusal.Message, StringComparison.Ordinal);
    }

    /// <summary>OpenSSL's own check compares the public half that the file claims, and never looks at the private one.</summary>
    [Fact]
    public void A_private_key_beside_the_right_public_one_is_refused()
    {
        using var own = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using var other = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateFiles files = Pem.WriteSelfSigned("mixed", own, "a.example");
        ECParameters claimed = own.ExportParameters(includePrivateParameters: false);
        File.WriteAllText(files.Key, PemEncoding.WriteString("EC PRIVATE KEY", Sec1Of(other.ExportParameters(true).D!, claimed.Q)));
        TlsException refusal = Assert.Throws<TlsException>(() => Terminate(TlsOptions(files)));
        Assert.Contains($"'{files.Key}'", refusal.Message, StringComparison.Ordinal);
        Assert.Contains($"'{files.Certificate}'", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void An_rsa_key_beside_the_right_modulus_is_refused_too()
    {
        using var other = RSA.Create(2048);
        CertificateFiles files = Pem.MakeRsa("mixed", "a.example");
        using var own = RSA.Create();
        own.ImportFromPem(File.ReadAllText(files.Key));
        byte[] claimed = RsaPrivateKeyOf(own.ExportParameters(true).Modulus!, other.ExportParameters(true));
        File.WriteAllText(files.Key, PemEncoding.WriteString("RSA PRIVATE KEY", claimed));
        TlsException refusal = Assert.Throws<TlsException>(() => Terminate(TlsOptions(files)));
        Assert.Contains($"'{files.Key}'", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_loaded_certificate_with_such_a_key_is_refused_too()
    {
        using var own = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateFiles files = Pem.WriteSelfSigned("loaded", own, "a.example");
        using X509Certificate2 loaded = X509Certificate2.CreateFromPemFile(files.Certificate, files.Key);
        using TlsTerminator good = TlsTerminator.Create(TlsOptions() with { Certificates = [new LoadedCertificate(loaded)] }, Log);
        using X509Certificate2 bare = X509CertificateLoader.LoadCertificateFromFile(files.Certificate);
        Assert.Throws<TlsException>(() => Terminate(TlsOptions() with { Certificates = [new LoadedCertificate(bare)] }));
    }

    [Theory]
    [InlineData("rsa")]
    [InlineData("ecdsa")]
    [InlineData("p384")]
    [InlineData("ed25519")]
    public async Task A_key_of_each_kind_serves_with_its_own_certificate(string kind)
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync, TlsOptions(await Pem.MakeOfKindAsync("own", kind, "a.example")));
        string seen = await Tools.AskAsync(listener, "GET /1 HTTP/1.1\r\nConnection: close\r\n\r\n");
        Assert.Contains("HTTP/1.1 200", seen, StringComparison.Ordinal);
    }

    /// <summary>RSAPrivateKey (RFC 8017, section A.1.2) of one key, with the modulus of another.</summary>
    private static byte[] RsaPrivateKeyOf(byte[] modulus, RSAParameters key)
    {
        var writer = new AsnWriter(AsnEncodingRules.DER);
        using (writer.PushSequence())
        {
            writer.WriteInteger(0);
            byte[]?[] numbers = [modulus, key.Exponent, key.D, key.P, key.Q, key.DP, key.DQ, key.InverseQ];
            Array.ForEach(numbers, number => writer.WriteIntegerUnsigned(number));
        }

        return writer.Encode();
    }

    /// <summary>ECPrivateKey (RFC 5915) on P-256.</summary>
    private static byte[] Sec1Of(byte[] secret, ECPoint point)
    {
        var writer = new AsnWriter(AsnEncodingRules.DER);
        using (writer.PushSequence())
        {
            writer.WriteInteger(1);
            writer.WriteOctetString(secret);
            using (writer.PushSequence(new Asn1Tag(TagClass.ContextSpecific, 0)))
            {
                writer.WriteObjectIdentifier("1.2.840.10045.3.1.7");
            }

            using (writer.PushSequence(new Asn1Tag(TagClass.ContextSpecific, 1)))
            {
                writer.WriteBitString([4, .. point.X!, .. point.Y!]);
            }
        }

        return writer.Encode();
    }
}
