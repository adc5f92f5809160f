using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Acme.Storage;
using Millrace.Interop.Files;
using Millrace.Tls;

namespace Millrace.Server.Https;

/// <summary>
/// A self-signed development certificate for this machine's names, kept in the user's data folder, so that a browser warns about it only
/// once.
/// </summary>
internal sealed class LocalCertificate
{
    private const string FileName = "localhost.pem";

    /// <summary>Apple's clients refuse certificates that are valid for longer than 825 days.</summary>
    private const int ValidDays = 365;

    /// <summary>A certificate that expires within this time is replaced.</summary>
    private const int RenewDays = 30;

    private const UnixFileMode OfKeys = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly DateTimeOffset _expiry;

    private LocalCertificate(string path, X509Certificate2 certificate)
    {
        _expiry = new DateTimeOffset(certificate.NotAfter);
        Files = new CertificateFiles(path, path);
        Fingerprint = string.Join(':', SHA256.HashData(certificate.RawData).Select(static one => one.ToString("X2")));
    }

    public CertificateFiles Files { get; }

    /// <summary>Its SHA-256 hash, as browsers show it.</summary>
    public string Fingerprint { get; }

    /// <summary>Why it was not replaced although it is due; null if it is not due.</summary>
    public string? RenewalRefusal { get; private set; }

    public static bool IsDue(DateTimeOffset expiry) => expiry <= DateTimeOffset.UtcNow.AddDays(RenewDays);

    /// <summary>
    /// Returns the user's existing certificate, or creates one if there is none or it is due. A due one that is still valid stays if the
    /// next cannot be written.
    /// </summary>
    /// <param name="folder">The folder to keep it in; null for the user's data folder.</param>
    /// <exception cref="TlsException">The certificate can be neither read nor written.</exception>
    public static LocalCertificate FindOrMake(string? folder = null)
    {
        folder ??= DefaultFolders.OfUser
            ?? throw new TlsException("There is no user data folder for a local certificate: set HOME, or use --cert and --key.");
        string path = Path.Combine(folder, FileName);
        LocalCertificate? found = null;
        try
        {
            // A volume of Kubernetes lets a group read it; one that stays readable is signed by nobody.
            _ = StoreFolders.RestoreMode(path, OfKeys);
            found = Find(path);
            return found is not null && !IsDue(found._expiry) ? found : Make(path);
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            string text = $"The local certificate cannot be stored in '{path}': {FileProblem.Of(path, refusal)}. "
                + FileProblem.RemedyOf(
                    refusal, $"Set {DefaultFolders.VariableOfUser} to a folder that this user may write, or use --cert and --key.");
            if (found is null)
            {
                throw new TlsException(text, refusal) { IsMistake = false };
            }

            found.RenewalRefusal = text;
            return found;
        }
    }

    /// <summary>The existing certificate, if clients of this machine accept it.</summary>
    private static LocalCertificate? Find(string path)
    {
        if (!File.Exists(path))
        {
            return null;
        }

        try
        {
            using X509Certificate2 certificate = X509Certificate2.CreateFromPemFile(path, path);
            var found = new LocalCertificate(path, certificate);
            return found._expiry > DateTimeOffset.UtcNow && certificate.MatchesHostname(Environment.MachineName) ? found : null;
        }
        catch (CryptographicException)
        {
            // Not a certificate written by this class: it is replaced.
            return null;
        }
    }

    private static LocalCertificate Make(string path)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN=millrace on {Environment.MachineName}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        names.AddDnsName(Environment.MachineName);
        names.AddIpAddress(IPAddress.Loopback);
        names.AddIpAddress(IPAddress.IPv6Loopback);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.DigitalSignature, true));

        // Server authentication, which some clients require.
        request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid("1.3.6.1.5.5.7.3.1")], false));
        using X509Certificate2 certificate = request.CreateSelfSigned(
            DateTimeOffset.UtcNow.AddHours(-1), DateTimeOffset.UtcNow.AddDays(ValidDays));
        Write(path, $"{certificate.ExportCertificatePem()}\n{key.ExportPkcs8PrivateKeyPem()}\n");
        return new LocalCertificate(path, certificate);
    }

    /// <summary>
    /// Written under a temporary name and renamed, so that a process that starts at the same time reads a complete file. The folder may
    /// belong to another user, who has placed links there: an existing file is not opened.
    /// </summary>
    private static void Write(string path, string pem)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        string temporary = $"{path}.{Environment.ProcessId}";
        File.Delete(temporary);
        var options = new FileStreamOptions { Mode = FileMode.CreateNew, Access = FileAccess.Write };
#pragma warning disable CA1416 // The engine runs only on Linux.
        options.UnixCreateMode = OfKeys;
#pragma warning restore CA1416
        using (var writer = new StreamWriter(new FileStream(temporary, options)))
        {
            writer.Write(pem);
        }

        File.Move(temporary, path, overwrite: true);
    }
}
