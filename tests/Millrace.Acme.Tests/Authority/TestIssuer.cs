using System.Buffers.Text;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Acme.Tests.Authority;

/// <summary>The keys and certificates of the authority: two roots, an intermediate that both have signed, and its own server.</summary>
internal sealed class TestIssuer
{
    private static readonly DateTimeOffset Begin = new(2020, 1, 1, 0, 0, 0, TimeSpan.Zero);
    private static readonly DateTimeOffset End = new(2049, 1, 1, 0, 0, 0, TimeSpan.Zero);
    private readonly ECDsa _key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
    private readonly X509Certificate2 _intermediate;
    private readonly X509Certificate2 _crossSigned;

    public TestIssuer()
    {
        Root = MakeRoot("Test Root");
        using X509Certificate2 oldRoot = MakeRoot("Old Root");
        _intermediate = MakeIntermediate(Root);
        _crossSigned = MakeIntermediate(oldRoot);
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        request.CertificateExtensions.Add(names.Build());
        using X509Certificate2 server = request.Create(Root, Begin, End, RandomNumberGenerator.GetBytes(8));
        ServerCertificate = server.CopyWithPrivateKey(key);
    }

    public X509Certificate2 Root { get; }

    public X509Certificate2 ServerCertificate { get; }

    public X509Certificate2 Intermediate(bool isAlternate) => isAlternate ? _crossSigned : _intermediate;

    public static CertificateRequest Load(byte[] der) => CertificateRequest.LoadSigningRequest(
        der, HashAlgorithmName.SHA256, CertificateRequestLoadOptions.UnsafeLoadCertificateExtensions, RSASignaturePadding.Pkcs1);

    public X509Certificate2 Issue(CertificateRequest request, DateTimeOffset notBefore, DateTimeOffset notAfter)
    {
        request.CertificateExtensions.Add(X509AuthorityKeyIdentifierExtension.CreateFromCertificate(_intermediate, true, false));
        byte[] serial = RandomNumberGenerator.GetBytes(12);
        serial[0] &= 0x7f;
        return request.Create(_intermediate.SubjectName, X509SignatureGenerator.CreateForECDsa(_key), notBefore, notAfter, serial);
    }

    /// <summary>RFC 9773, section 4.1.</summary>
    public static string RenewalId(X509Certificate2 certificate)
    {
        var issuer = certificate.Extensions.OfType<X509AuthorityKeyIdentifierExtension>().Single();
        return $"{Base64Url.EncodeToString(issuer.KeyIdentifier!.Value.Span)}.{Base64Url.EncodeToString(certificate.SerialNumberBytes.Span)}";
    }

    private static X509Certificate2 MakeRoot(string name)
    {
        ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, false));
        return request.CreateSelfSigned(Begin, End);
    }

    private X509Certificate2 MakeIntermediate(X509Certificate2 root)
    {
        var request = new CertificateRequest("CN=Test Intermediate", _key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, true, 0, true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, false));
        return request.Create(root, Begin, End, RandomNumberGenerator.GetBytes(8));
    }
}
