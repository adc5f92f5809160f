using System.Net;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Server.Tests.Kit;

/// <summary>A certificate for one test, and clients that take it.</summary>
internal static class OwnCertificate
{
    /// <summary>So long that no warning is due.</summary>
    private const double Days = 90;

    /// <summary>The flags for a certificate that signs itself.</summary>
    public static string[] Make(TempFolder folder, string file, params string[] names) => Make(folder, file, Days, password: null, names);

    /// <summary>The same, valid for so many days; less than 0: expired since.</summary>
    public static string[] Make(TempFolder folder, string file, double days, params string[] names) =>
        Make(folder, file, days, password: null, names);

    /// <summary>The same with a key that a password opens.</summary>
    public static string[] MakeEncrypted(TempFolder folder, string file, string password, params string[] names) =>
        Make(folder, file, Days, password, names);

    private static string[] Make(TempFolder folder, string file, double days, string? password, string[] names)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var how = new PbeParameters(PbeEncryptionAlgorithm.Aes256Cbc, HashAlgorithmName.SHA256, 1_000);
        var request = new CertificateRequest($"CN={names[0]}", key, HashAlgorithmName.SHA256);
        var alternatives = new SubjectAlternativeNameBuilder();
        foreach (string name in names)
        {
            if (IPAddress.TryParse(name, out IPAddress? address))
            {
                alternatives.AddIpAddress(address);
            }
            else
            {
                alternatives.AddDnsName(name);
            }
        }

        request.CertificateExtensions.Add(alternatives.Build());
        using X509Certificate2 certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-2), DateTimeOffset.UtcNow.AddDays(days));
        File.WriteAllText(folder.PathOf(file + ".crt"), certificate.ExportCertificatePem());
        File.WriteAllText(
            folder.PathOf(file + ".key"),
            password is null ? key.ExportPkcs8PrivateKeyPem() : key.ExportEncryptedPkcs8PrivateKeyPem(password, how));
        return ["--cert", folder.PathOf(file + ".crt"), "--key", folder.PathOf(file + ".key")];
    }

    public static HttpClient Trusting() => new(new SocketsHttpHandler
    {
        SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = IsAnything },
    });

    /// <summary>Certificates here are made for one test each.</summary>
    public static bool IsAnything(object sender, X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors) =>
        certificate is not null;
}
