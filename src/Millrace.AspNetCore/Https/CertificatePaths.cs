using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Millrace.Tls;

namespace Millrace.AspNetCore.Https;

/// <summary>Resolves and loads certificate files, relative to the application's content root as with <c>UseHttps</c>.</summary>
internal static class CertificatePaths
{
    /// <summary>The first byte of a PKCS #12 file, as of all DER-encoded ASN.1 sequences; no PEM file begins with it.</summary>
    private const byte DerSequence = 0x30;

    /// <summary>Opens a PKCS #12 or PEM file.</summary>
    /// <exception cref="TlsException">The file cannot be read, or is not a certificate.</exception>
    public static ServerCertificate Open(ListenOptions listenOptions, string fileName, string? password)
    {
        string path = Path.Combine(RootOf(listenOptions), fileName);
        return Read(path, () => File.ReadAllBytes(path)) is not [DerSequence, ..]
            ? new CertificateFiles(path, path, password)
            : Unpack(path, Read(path, () => X509CertificateLoader.LoadPkcs12CollectionFromFile(path, password)));
    }

    public static void Find(ListenOptions listenOptions, IList<ServerCertificate> certificates)
    {
        for (int i = 0; i < certificates.Count; i++)
        {
            if (certificates[i] is CertificateFiles files)
            {
                string root = RootOf(listenOptions);
                certificates[i] = files with { Certificate = Path.Combine(root, files.Certificate), Key = Path.Combine(root, files.Key) };
            }
        }
    }

    /// <summary>The certificate as .NET loads it, with the chain to its root.</summary>
    /// <exception cref="TlsException">The file cannot be read, or is not a certificate.</exception>
    public static LoadedCertificate Load(ServerCertificate certificate) => certificate switch
    {
        LoadedCertificate loaded => loaded,
        CertificateFiles files => Read(files.Certificate, () => LoadPem(files)),
        _ => throw new TlsException($"A certificate of type {certificate.GetType().Name} cannot be loaded."),
    };

    private static LoadedCertificate LoadPem(CertificateFiles files)
    {
        using X509Certificate2 made = files.Password is null
            ? X509Certificate2.CreateFromPemFile(files.Certificate, files.Key)
            : X509Certificate2.CreateFromEncryptedPemFile(files.Certificate, files.Password, files.Key);
        var all = new X509Certificate2Collection();
        all.ImportFromPemFile(files.Certificate);

        // SslStream requires a loaded key, not an ephemeral one.
        return new LoadedCertificate(
            X509CertificateLoader.LoadPkcs12(made.Export(X509ContentType.Pkcs12), password: null), [.. all.Skip(1)]);
    }

    private static LoadedCertificate Unpack(string path, X509Certificate2Collection all)
    {
        X509Certificate2 own = all.FirstOrDefault(static one => one.HasPrivateKey)
            ?? throw new TlsException($"'{path}' holds no certificate with a private key.");
        return new LoadedCertificate(own, [.. all.Where(one => one != own)]);
    }

    private static T Read<T>(string path, Func<T> read)
    {
        try
        {
            return read();
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException or CryptographicException)
        {
            throw new TlsException($"The certificate '{path}' cannot be used: {refusal.Message}", refusal);
        }
    }

    private static string RootOf(ListenOptions listenOptions) =>
        listenOptions.ApplicationServices.GetRequiredService<IHostEnvironment>().ContentRootPath;
}
