using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Challenges;

/// <summary>
/// The open challenges in the store's folder, one file each: the process that obtains certificates writes them, and the others, which an
/// authority may reach instead, read them. What cannot be written or read is logged and counts as absent. Any thread; look-ups run on the
/// thread pool, some at a time, and give up after some seconds: anybody can ask for challenges, and the folder may be on a network.
/// </summary>
internal sealed class SharedChallenges(string path, AtomicFiles files, Func<bool> isHolder, AcmeLog log)
{
    private const int LookupsMax = 16;
    private static readonly TimeSpan LookupMax = TimeSpan.FromSeconds(5);
    private int _lookups;

    public void AddHttp(string token, string keyAuthorization) => Add(FileOfHttp(token), () => keyAuthorization);

    public void AddTlsAlpn(string serverName, X509Certificate2 certificate) => Add(
        FileOfTlsAlpn(serverName),
        () =>
        {
            using ECDsa key = certificate.GetECDsaPrivateKey()!;
            return $"{certificate.ExportCertificatePem()}\n{key.ExportPkcs8PrivateKeyPem()}\n";
        });

    public void RemoveHttp(string token) => Remove(FileOfHttp(token));

    public void RemoveTlsAlpn(string serverName) => Remove(FileOfTlsAlpn(serverName));

    /// <summary>Empty if there is none.</summary>
    public ValueTask<ReadOnlyMemory<byte>> FindKeyAuthorizationAsync(string token) =>
        FindAsync(FileOfHttp(token), static text => (ReadOnlyMemory<byte>)Encoding.ASCII.GetBytes(text));

    /// <summary>Null if there is none.</summary>
    public ValueTask<X509Certificate2?> FindCertificateAsync(string serverName) =>
        FindAsync(FileOfTlsAlpn(serverName), static text => (X509Certificate2?)X509Certificate2.CreateFromPem(text, text));

    private ValueTask<T?> FindAsync<T>(string file, Func<string, T> read)
    {
        if (isHolder())
        {
            return default;
        }

        if (Interlocked.Increment(ref _lookups) > LookupsMax)
        {
            Interlocked.Decrement(ref _lookups);
            return default;
        }

        return new(WithinLimitAsync(Task.Run(() => Find(file, read))));
    }

    private async Task<T?> WithinLimitAsync<T>(Task<T?> lookup)
    {
        try
        {
            return await lookup.WaitAsync(LookupMax);
        }
        catch (TimeoutException)
        {
            log.FileUnreadable(path, $"it is not read within {LookupMax.TotalSeconds} seconds");
            return default;
        }
    }

    private T? Find<T>(string file, Func<string, T> read)
    {
        try
        {
            return File.Exists(file) ? read(File.ReadAllText(file)) : default;
        }
        catch (FileNotFoundException)
        {
            // It was removed meanwhile.
            return default;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            log.FileUnreadable(file, e.Message);
            return default;
        }
        finally
        {
            Interlocked.Decrement(ref _lookups);
        }
    }

    /// <summary>This process answers from memory, whether or not the others can.</summary>
    private void Add(string file, Func<string> content)
    {
        try
        {
            AcmeStore.CreateFolder(path);
            files.Write(file, content());
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            log.ChallengeNotShared(file, e.Message);
        }
    }

    private void Remove(string file)
    {
        try
        {
            if (File.Exists(file))
            {
                files.Delete(file);
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            log.ChallengeNotShared(file, e.Message);
        }
    }

    private string FileOfHttp(string token) => FileOf(ChallengeResponder.Http01, token);

    private string FileOfTlsAlpn(string serverName) => FileOf(ChallengeResponder.TlsAlpn01, serverName);

    /// <summary>Named by a hash: tokens and names are from others, and must not lead to another file.</summary>
    private string FileOf(string type, string name) =>
        Path.Combine(path, Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes($"{type}:{name}"))));
}
