using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Tls.Tests.Kit;

/// <summary>Certificates and keys in files, made for one test.</summary>
internal sealed class PemFiles : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public string PathOf(string file) => _folder.File(file);

    /// <summary>A certificate that signs itself, for these names.</summary>
    public CertificateFiles Make(string file, params string[] names) => Make(file, DateTimeOffset.UtcNow.AddDays(30), names);

    public CertificateFiles Make(string file, DateTimeOffset until, params string[] names)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={names[0]}", key, HashAlgorithmName.SHA256);
        using X509Certificate2 certificate = Named(request, names).CreateSelfSigned(until.AddDays(-60), until);
        return Write(file, certificate.ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem());
    }

    public CertificateFiles MakeRsa(string file, params string[] names) => MakeRsa(file, 2048, names);

    public CertificateFiles MakeRsa(string file, int bits, params string[] names)
    {
        using var key = RSA.Create(bits);
        var request = new CertificateRequest($"CN={names[0]}", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        using X509Certificate2 certificate = Named(request, names).CreateSelfSigned(
            DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        return Write(file, certificate.ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem());
    }

    /// <summary>A certificate that signs itself, with a key of this kind: rsa, ecdsa, p384 or ed25519.</summary>
    public async Task<CertificateFiles> MakeOfKindAsync(string file, string kind, string name)
    {
        switch (kind)
        {
            case "rsa":
                return MakeRsa(file, name);
            case "ecdsa":
                return Make(file, name);
            case "p384":
                using (var key = ECDsa.Create(ECCurve.NamedCurves.nistP384))
                {
                    return WriteSelfSigned(file, key, name);
                }

            default:
                // .NET has no keys of this kind.
                var files = new CertificateFiles(PathOf(file + ".crt"), PathOf(file + ".key"));
                await Tools.RunAsync("openssl", "", "req", "-x509", "-newkey", kind, "-noenc", "-days", "30", "-subj", $"/CN={name}",
                    "-addext", $"subjectAltName=DNS:{name}", "-keyout", files.Key, "-out", files.Certificate);
                return files;
        }
    }

    public CertificateFiles WriteSelfSigned(string file, ECDsa key, string name)
    {
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        using X509Certificate2 certificate = Named(request, [name]).CreateSelfSigned(
            DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        return Write(file, certificate.ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem());
    }

    /// <summary>The same with an encrypted key.</summary>
    public CertificateFiles MakeEncrypted(string file, string password, params string[] names)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={names[0]}", key, HashAlgorithmName.SHA256);
        using X509Certificate2 certificate = Named(request, names).CreateSelfSigned(
            DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        var how = new PbeParameters(PbeEncryptionAlgorithm.Aes256Cbc, HashAlgorithmName.SHA256, 1_000);
        return Write(file, certificate.ExportCertificatePem(), key.ExportEncryptedPkcs8PrivateKeyPem(password, how));
    }

    /// <summary>An authority, and a certificate that it has signed.</summary>
    public (string Authority, CertificateFiles Leaf) MakeSigned(string file, string name)
    {
        using var authorityKey = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 authority = AuthorityRequest($"{file} authority", authorityKey).CreateSelfSigned(
            DateTimeOffset.UtcNow.AddDays(-2), DateTimeOffset.UtcNow.AddDays(40));
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        using X509Certificate2 leaf = Named(request, [name]).Create(
            authority, DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30), RandomNumberGenerator.GetBytes(8));
        File.WriteAllText(PathOf(file + ".ca.pem"), authority.ExportCertificatePem());
        return (PathOf(file + ".ca.pem"), Write(file, leaf.ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem()));
    }

    /// <summary>A root, an authority that it has signed, and a certificate of that.</summary>
    public (string Root, string Authority, CertificateFiles Leaf) MakeChain(string file, string name)
    {
        using var rootKey = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 root = AuthorityRequest($"{file} root", rootKey).CreateSelfSigned(
            DateTimeOffset.UtcNow.AddDays(-2), DateTimeOffset.UtcNow.AddDays(40));
        using var authorityKey = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 bare = AuthorityRequest($"{file} authority", authorityKey).Create(
            root, DateTimeOffset.UtcNow.AddDays(-2), DateTimeOffset.UtcNow.AddDays(40), RandomNumberGenerator.GetBytes(8));
        using X509Certificate2 authority = bare.CopyWithPrivateKey(authorityKey);
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 leaf = Named(new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256), [name]).Create(
            authority, DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30), RandomNumberGenerator.GetBytes(8));
        File.WriteAllText(PathOf(file + ".root.pem"), root.ExportCertificatePem());
        File.WriteAllText(PathOf(file + ".ca.pem"), authority.ExportCertificatePem());
        return (PathOf(file + ".root.pem"), PathOf(file + ".ca.pem"),
            Write(file, leaf.ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem()));
    }

    public void Dispose() => _folder.Dispose();

    private static CertificateRequest AuthorityRequest(string name, ECDsa key)
    {
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        return request;
    }

    private static CertificateRequest Named(CertificateRequest request, string[] names)
    {
        var alternatives = new SubjectAlternativeNameBuilder();
        foreach (string name in names)
        {
            alternatives.AddDnsName(name);
        }

        alternatives.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(alternatives.Build());
        return request;
    }

    private CertificateFiles Write(string file, string certificate, string key)
    {
        File.WriteAllText(PathOf(file + ".crt"), certificate);
        File.WriteAllText(PathOf(file + ".key"), key);
        return new CertificateFiles(PathOf(file + ".crt"), PathOf(file + ".key"));
    }
}
