using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using Millrace.Interop;

namespace Millrace.Acme.Storage;

/// <summary>
/// The folder of accounts, certificates and orders under way:
/// <c>accounts/AUTHORITY/account.key|account.json</c>, <c>certificates/NAME/certificate.pem|order.json|renewal.json</c>, <c>lock</c>. The
/// process that holds the lock writes; others only read. The lock ends with its process. Any thread.
/// </summary>
internal sealed class AcmeStore : IDisposable
{
    private const string LockName = "lock";
    private readonly string _directory;
    private readonly AtomicFiles _files;
    private readonly AcmeLog _log;
    private volatile FileStream? _lock;

    private AcmeStore(string directory, AcmeLog log, Action<string>? step)
    {
        _directory = directory;
        _log = log;
        _files = new AtomicFiles(step);
    }

    public bool IsHolder => _lock is not null;

    /// <param name="directory">Created if it does not exist.</param>
    /// <param name="log">Names what is not readable.</param>
    /// <param name="step">See <see cref="AtomicFiles"/>.</param>
    /// <exception cref="AcmeConfigurationException">The folder cannot be created or written, or others can read it.</exception>
    public static AcmeStore Open(string directory, AcmeLog log, Action<string>? step = null)
    {
        directory = Path.GetFullPath(directory);
        try
        {
            CreateFolder(directory);
            RequirePrivate(directory);
            var store = new AcmeStore(directory, log, step);
            store.TryLock();
            return store;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new AcmeConfigurationException(
                $"Certificates cannot be stored in {directory}: {e.Message} Name a folder that this user can create or write.", e);
        }
    }

    /// <summary>Tries to become the process that writes. What a holder that was killed left half written is removed.</summary>
    public bool TryLock()
    {
        if (_lock is not null)
        {
            return true;
        }

        try
        {
            _lock = new FileStream(Path.Combine(_directory, LockName), new FileStreamOptions
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

        foreach (string temporary in Directory.EnumerateFiles(
            _directory, "*" + AtomicFiles.TemporarySuffix, SearchOption.AllDirectories))
        {
            File.Delete(temporary);
        }

        return true;
    }

    public AccountFolder Account(Uri directoryUrl)
    {
        string hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(directoryUrl.AbsoluteUri)))[..8];
        return new AccountFolder(Path.Combine(_directory, "accounts", $"{directoryUrl.Host}-{hash}"), directoryUrl, _files, _log);
    }

    public CertificateFolder Certificate(string folder) =>
        new(Path.Combine(_directory, "certificates", folder), _files, _log);

    /// <summary>Ends the lock.</summary>
    public void Dispose()
    {
        _lock?.Dispose();
        _lock = null;
    }

    /// <summary>Creates a folder that only its owner can read, if it does not exist.</summary>
    internal static void CreateFolder(string path)
    {
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

    private static void RequirePrivate(string directory)
    {
        const UnixFileMode Others = UnixFileMode.GroupRead | UnixFileMode.GroupWrite | UnixFileMode.GroupExecute
            | UnixFileMode.OtherRead | UnixFileMode.OtherWrite | UnixFileMode.OtherExecute;
#pragma warning disable CA1416 // Millrace runs only on Linux.
        if ((File.GetUnixFileMode(directory) & Others) != 0)
#pragma warning restore CA1416
        {
            throw new AcmeConfigurationException(
                $"Other users can read or enter {directory}, where private keys are stored: run 'chmod 700 {directory}', or name a folder "
                + "that does not exist yet.");
        }
    }
}
