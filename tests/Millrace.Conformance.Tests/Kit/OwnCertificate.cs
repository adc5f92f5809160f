using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>A certificate for one run.</summary>
internal static class OwnCertificate
{
    /// <summary>For localhost and the hosts that tests ask for, signed by itself: in PEM, with its key.</summary>
    public static string Make()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        var alternatives = new SubjectAlternativeNameBuilder();
        foreach (string name in (string[])["localhost", "files.example", "other.example", "xn--bcher-kva.example"])
        {
            alternatives.AddDnsName(name);
        }

        request.CertificateExtensions.Add(alternatives.Build());
        using X509Certificate2 certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(9));
        return $"{certificate.ExportCertificatePem()}\n{key.ExportPkcs8PrivateKeyPem()}\n";
    }
}
