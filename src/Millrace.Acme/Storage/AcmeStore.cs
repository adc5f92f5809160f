using System.Collections.Concurrent;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using Millrace.Acme.Challenges;
using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Acme.Storage;

/// <summary>
/// The folder of accounts, certificates and orders under way:
/// <c>accounts/AUTHORITY/account.key|account.json</c>, <c>certificates/NAMES/certificate.pem|order.json|renewal.json</c>, <c>lock</c>,
/// <c>holder.json</c>. The process that holds the lock writes; others only read. The lock ends with its process. Any thread.
/// </summary>
internal sealed class AcmeStore : IDisposable
{
    /// <summary>Of a certificate that is not configured any more, after it has expired.</summary>
    private static readonly TimeSpan ExpiredMax = TimeSpan.FromDays(30);

    private readonly ConcurrentDictionary<string, CertificateFolder> _folders = new(StringComparer.Ordinal);
    private readonly string _directory;
    private readonly string _certificates;
    private readonly string _holder;
    private readonly AtomicFiles _files;
    private readonly AcmeLog _log;
    private volatile FileStream? _lock;

    private AcmeStore(string directory, AcmeLog log, Action<string>? step)
    {
        _directory = directory;
        _certificates = Path.Combine(directory, "certificates");
        _holder = Path.Combine(directory, "holder.json");
        _log = log;
        _files = new AtomicFiles(step);
    }

    public bool IsHolder => _lock is not null;

    /// <param name="directory">Created if it does not exist.</param>
    /// <param name="log">Names what is not readable.</param>
    /// <param name="step">See <see cref="AtomicFiles"/>.</param>
    /// <exception cref="AcmeConfigurationException">The folder cannot be created or written, or all users can write to it.</exception>
    public static AcmeStore Open(string directory, AcmeLog log, Action<string>? step = null)
    {
        directory = Path.GetFullPath(directory);
        try
        {
            CreateFolder(directory);
            RequireUnwritable(directory);
            var store = new AcmeStore(directory, log, step);
            store.TryLock();
            return store;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new AcmeConfigurationException(
                $"Certificates cannot be stored in {directory}: {FileProblem.Of(directory, e)}. "
                    + FileProblem.RemedyOf(e, "Name a folder that this user can create or write."),
                e);
        }
    }

    /// <summary>Tries to become the process that writes. What a holder that was killed left half written is removed.</summary>
    /// <exception cref="IOException">The folder cannot be used now.</exception>
    /// <exception cref="UnauthorizedAccessException">As above.</exception>
    public bool TryLock()
    {
        if (_lock is not null)
        {
            return true;
        }

        FileStream taken;
        try
        {
            taken = new FileStream(Path.Combine(_directory, StoreFolders.Lock), new FileStreamOptions
            {
                Mode = FileMode.OpenOrCreate,
                Access = FileAccess.ReadWrite,
                Share = FileShare.None,
#pragma warning disable CA1416 // Millrace runs only on Linux.
                UnixCreateMode = UnixFileMode.UserRead | UnixFileMode.UserWrite,
#pragma warning restore CA1416
            });
        }
        catch (IOException e) when (e.HResult == Errno.EAGAIN)
        {
            // flock(2): another process has it.
            return false;
        }

        try
        {
            CleanUp();
        }
        catch
        {
            taken.Dispose();
            throw;
        }

        _lock = taken;
        return true;
    }

    /// <summary>What the process with the lock obtains, for others to read.</summary>
    public void WriteHolder(IEnumerable<string> names)
    {
        var holder = new StoreHolder
        {
            Process = Environment.ProcessId,
            Machine = Environment.MachineName,
            Names = [.. names.Distinct(StringComparer.Ordinal)],
        };
        _files.Write(_holder, JsonSerializer.Serialize(holder, StoredJson.Default.StoreHolder));
    }

    /// <summary>Null if that is not known.</summary>
    public StoreHolder? ReadHolder() => ReadRecord(_holder, StoredJson.Default.StoreHolder, _log);

    public AccountFolder Account(Uri directoryUrl)
    {
        string hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(directoryUrl.AbsoluteUri)))[..8];
        string path = Path.Combine(_directory, StoreFolders.Accounts, $"{directoryUrl.Host}-{hash}");
        return new AccountFolder(path, directoryUrl, _files, _log);
    }

    public CertificateFolder Certificate(string folder) =>
        _folders.GetOrAdd(folder, name => new CertificateFolder(Path.Combine(_certificates, name), _files, _log));

    public SharedChallenges Challenges() => new(Path.Combine(_directory, StoreFolders.Challenges), _files, () => IsHolder, _log);

    /// <summary>Of all certificates that have not expired, those that serve the names: for each name the one that expires last.</summary>
    public IReadOnlyList<InstalledCertificate> FindValid(IReadOnlyList<string> names, DateTimeOffset now)
    {
        if (names.Count == 0)
        {
            return [];
        }

        InstalledCertificate[] valid =
        [
            .. from folder in Certificates()
               let certificate = folder.ReadCertificate()
               where certificate?.NotAfter > now
               orderby certificate.NotAfter descending
               select new InstalledCertificate(folder.CertificateFile, certificate),
        ];
        return
        [
            .. names.Select(name => Array.Find(valid, one => one.Certificate.Covers(name))).OfType<InstalledCertificate>().Distinct(),
        ];
    }

    /// <summary>Removes the certificates that have expired 30 days ago, and what is left of orders, except in these folders.</summary>
    public void RemoveExpired(IReadOnlySet<string> kept, DateTimeOffset now)
    {
        foreach (CertificateFolder folder in Certificates().Where(one => !kept.Contains(one.Name) && now - one.LastUse > ExpiredMax))
        {
            folder.Remove();
            _folders.TryRemove(folder.Name, out _);
        }
    }

    /// <summary>Ends the lock.</summary>
    public void Dispose()
    {
        _lock?.Dispose();
        _lock = null;
    }

    /// <summary>Creates a folder that only its owner can read, with those above it, if it does not exist.</summary>
    internal static void CreateFolder(string path)
    {
        if (Path.GetDirectoryName(path) is { } above && !Directory.Exists(above))
        {
            CreateFolder(above);
        }

#pragma warning disable CA1416 // Millrace runs only on Linux.
        Directory.CreateDirectory(path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
#pragma warning restore CA1416
    }

    /// <summary>The record in a file; null if there is none; null, and a warning, if it is not readable.</summary>
    internal static T? ReadRecord<T>(string file, JsonTypeInfo<T> type, AcmeLog log)
        where T : class
    {
        try
        {
            return File.Exists(file) ? JsonSerializer.Deserialize(File.ReadAllText(file), type) : null;
        }
        catch (Exception e) when (e is JsonException or IOException or UnauthorizedAccessException)
        {
            log.FileUnreadable(file, e.Message);
            return null;
        }
    }

    private CertificateFolder[] Certificates()
    {
        IEnumerable<string> paths = Directory.Exists(_certificates) ? Directory.EnumerateDirectories(_certificates) : [];
        return [.. paths.Order(StringComparer.Ordinal).Select(path => Certificate(Path.GetFileName(path)))];
    }

    private void CleanUp()
    {
        StoreFolders.Restore(_directory, _log);
        File.Delete(_holder);

        // Folders used to be called after the first name.
        foreach (CertificateFolder folder in Certificates())
        {
            string proper = Path.Combine(_certificates, folder.ProperName());
            if (folder.Name != Path.GetFileName(proper) && !Directory.Exists(proper))
            {
                Directory.Move(Path.Combine(_certificates, folder.Name), proper);
            }
        }
    }

    /// <summary>Others may read the folder, since what is in it is for its owner only, but not replace what is there.</summary>
    /// <exception cref="AcmeConfigurationException">All users can write to the folder.</exception>
    internal static void RequireUnwritable(string directory)
    {
#pragma warning disable CA1416 // Millrace runs only on Linux.
        if (Directory.Exists(directory) && (File.GetUnixFileMode(directory) & UnixFileMode.OtherWrite) != 0)
#pragma warning restore CA1416
        {
            throw new AcmeConfigurationException(
                $"All users can write to {directory}, where private keys are stored: run 'chmod o-w {directory}', or name a folder "
                + "that does not exist yet.");
        }
    }
}
