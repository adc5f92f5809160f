using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.AspNetCore.Tests.Https.Kit;

/// <summary>A client's certificate, whose issuer an authority has signed.</summary>
internal sealed class CertificateFamily : IDisposable
{
    public CertificateFamily()
    {
        Root = Make("root", null);
        Middle = Make("middle", Root);
        Leaf = Make("leaf", Middle);
    }

    public X509Certificate2 Root { get; }

    public X509Certificate2 Middle { get; }

    public X509Certificate2 Leaf { get; }

    public void Dispose()
    {
        Leaf.Dispose();
        Middle.Dispose();
        Root.Dispose();
    }

    private static X509Certificate2 Make(string name, X509Certificate2? issuer)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(name != "leaf", false, 0, true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, false));
        DateTimeOffset from = DateTimeOffset.UtcNow.AddDays(-1);
        DateTimeOffset until = DateTimeOffset.UtcNow.AddDays(30);
        if (issuer is null)
        {
            return request.CreateSelfSigned(from, until);
        }

        using X509Certificate2 signed = request.Create(
            issuer, new DateTimeOffset(issuer.NotBefore), new DateTimeOffset(issuer.NotAfter), RandomNumberGenerator.GetBytes(8));
        using X509Certificate2 whole = signed.CopyWithPrivateKey(key);
        return X509CertificateLoader.LoadPkcs12(whole.Export(X509ContentType.Pkcs12), password: null);
    }
}
