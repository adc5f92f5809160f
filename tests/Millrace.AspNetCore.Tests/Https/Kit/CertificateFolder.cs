using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Tls;

namespace Millrace.AspNetCore.Tests.Https.Kit;

/// <summary>Certificates on disk, in a folder that goes with them.</summary>
internal sealed class CertificateFolder : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-https-");

    public string PathOf(string file) => Path.Combine(_folder.FullName, file);

    /// <summary>A certificate that signs itself, for a host.</summary>
    public static X509Certificate2 Make(string host)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={host}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(host);
        request.CertificateExtensions.Add(names.Build());
        return request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(30));
    }

    public CertificateFiles WritePem(string file, string host, string? password = null)
    {
        using X509Certificate2 made = Make(host);
        using ECDsa key = made.GetECDsaPrivateKey()!;
        var how = new PbeParameters(PbeEncryptionAlgorithm.Aes256Cbc, HashAlgorithmName.SHA256, 1_000);
        Write(file + ".pem", made.ExportCertificatePem());
        Write(file + ".key", password is null ? key.ExportPkcs8PrivateKeyPem() : key.ExportEncryptedPkcs8PrivateKeyPem(password, how));
        return new CertificateFiles(PathOf(file + ".pem"), PathOf(file + ".key"), password);
    }

    /// <summary>Certificate and key in one file.</summary>
    public string WriteOnePem(string file, string host)
    {
        using X509Certificate2 made = Make(host);
        using ECDsa key = made.GetECDsaPrivateKey()!;
        return Write(file, made.ExportCertificatePem() + "\n" + key.ExportPkcs8PrivateKeyPem());
    }

    public string WritePfx(string file, string host, string password)
    {
        using X509Certificate2 made = Make(host);
        File.WriteAllBytes(PathOf(file), made.Export(X509ContentType.Pkcs12, password));
        return PathOf(file);
    }

    public void Dispose() => _folder.Delete(recursive: true);

    /// <summary>By a rename, as tools for certificates do: nobody sees half a file.</summary>
    private string Write(string file, string text)
    {
        File.WriteAllText(PathOf(file) + ".new", text);
        File.Move(PathOf(file) + ".new", PathOf(file), overwrite: true);
        return PathOf(file);
    }
}
