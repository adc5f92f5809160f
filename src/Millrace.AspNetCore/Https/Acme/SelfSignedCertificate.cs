using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;
using Millrace.Tls;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>A certificate in memory for names whose own certificate is still to be obtained, so that handshakes do not fail.</summary>
internal static class SelfSignedCertificate
{
    private const int ValidDays = 365;

    public static LoadedCertificate Make(IEnumerable<string> names, TimeProvider clock)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=Not yet obtained", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(SubjectNames.Extension(names.Select(AcmeIdentifier.Of)));
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        DateTimeOffset now = clock.GetUtcNow();
        using X509Certificate2 made = request.CreateSelfSigned(now.AddHours(-1), now.AddDays(ValidDays));

        // SslStream requires a loaded key, not an ephemeral one, and OpenSSL a copy of it.
        return new LoadedCertificate(X509CertificateLoader.LoadPkcs12(
            made.Export(X509ContentType.Pkcs12), password: null, X509KeyStorageFlags.Exportable));
    }
}
