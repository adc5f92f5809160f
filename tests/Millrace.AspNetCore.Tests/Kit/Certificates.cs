using System.Net;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>Certificates that sign themselves.</summary>
internal static class Certificates
{
    public static X509Certificate2 Server { get; } = Make("localhost");

    public static X509Certificate2 Client { get; } = Make("client");

    /// <summary>Trusts the server of these tests, and nobody else.</summary>
    public static bool IsServer(object sender, X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors) =>
        certificate is not null && certificate.GetCertHashString() == Server.GetCertHashString();

    private static X509Certificate2 Make(string name)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        using X509Certificate2 made = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
        // SslStream wants a key that was loaded, not one that is in the making.
        return X509CertificateLoader.LoadPkcs12(made.Export(X509ContentType.Pkcs12), password: null);
    }
}
