using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;

namespace Millrace.Acme.Storage;

/// <summary>
/// The folder of the certificate for one set of names and one kind of key: the certificate itself, its order under way and the state of its
/// renewal. What is not readable is logged and treated as absent. Written by the process that holds the store's lock, one thread at a time;
/// read by any.
/// </summary>
internal sealed class CertificateFolder
{
    private const int HostMax = 200;
    private readonly string _path;
    private readonly string _order;
    private readonly string _state;
    private readonly AtomicFiles _files;
    private readonly AcmeLog _log;
    private readonly CachedFile<StoredCertificate> _certificateContent;
    private readonly CachedFile<RenewalState> _stateContent;

    public CertificateFolder(string path, AtomicFiles files, AcmeLog log)
    {
        _path = path;
        _files = files;
        _log = log;
        _order = Path.Combine(path, "order.json");
        _state = Path.Combine(path, "renewal.json");
        CertificateFile = Path.Combine(path, "certificate.pem");
        _certificateContent = new CachedFile<StoredCertificate>(CertificateFile, ParseCertificate);
        _stateContent = new CachedFile<RenewalState>(_state, file => Read(file, StoredJson.Default.RenewalState));
    }

    public string Name => Path.GetFileName(_path);

    public string CertificateFile { get; }

    /// <summary>
    /// Until when it was of use: the last of the certificate's expiry, the last attempt and the begin of an order; null if there is none.
    /// </summary>
    public DateTimeOffset? LastUse =>
        new[] { ReadCertificate()?.NotAfter, _stateContent.Read()?.LastAttempt, ReadOrder()?.Begun }.Max();

    /// <summary>
    /// One of the names, with <c>_</c>, which no host has, for what a path should not have; the kind of the key; and a hash of all names.
    /// Other names are in another folder, whose certificate serves until its successor is there.
    /// </summary>
    public static string NameOf(IEnumerable<string> names, AcmeKeyKinds kind)
    {
        string[] ordered = [.. names.Order(StringComparer.Ordinal)];
        string hash = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(string.Join(' ', ordered))))[..12];
        string host = ordered[0].Replace('*', '_').Replace(':', '_').Replace('/', '_');
        return $"{host[..Math.Min(host.Length, HostMax)]}-{(kind == AcmeKeyKinds.Rsa2048 ? "rsa2048" : "p256")}-{hash}";
    }

    public StoredCertificate? ReadCertificate() => _certificateContent.Read();

    public PendingOrder? ReadOrder() => Read(_order, StoredJson.Default.PendingOrder);

    public RenewalState ReadState()
    {
        RenewalState state = _stateContent.Read() ?? new RenewalState();

        // Null if the file does not have it: generated readers leave out the initial values of init properties.
        return state.FailedChallenges is null ? state with { FailedChallenges = [] } : state;
    }

    public void Install(StoredCertificate certificate)
    {
        AcmeStore.CreateFolder(_path);
        _files.Write(CertificateFile, certificate.Pem);
    }

    public void WriteOrder(PendingOrder order)
    {
        AcmeStore.CreateFolder(_path);
        _files.Write(_order, JsonSerializer.Serialize(order, StoredJson.Default.PendingOrder));
    }

    public void DeleteOrder() => Delete(_order);

    public void WriteState(RenewalState state)
    {
        AcmeStore.CreateFolder(_path);
        _files.Write(_state, JsonSerializer.Serialize(state, StoredJson.Default.RenewalState));
    }

    /// <summary>The name that a folder has for what it contains; its own, if that is not known.</summary>
    public string ProperName()
    {
        if (ReadCertificate() is not { Names.Count: > 0 } certificate)
        {
            return Name;
        }

        // Some authorities add names to those that were ordered.
        bool isKnown = ReadState().Names is { Count: > 0 } ordered && ordered.All(certificate.Names.Contains);
        return NameOf(isKnown ? ReadState().Names! : certificate.Names, certificate.Kind);
    }

    /// <summary>Removes the files, and the folder unless it has other files too.</summary>
    public void Remove()
    {
        Delete(_order);
        Delete(_state);
        Delete(CertificateFile);
        if (!Directory.EnumerateFileSystemEntries(_path).Any())
        {
            Directory.Delete(_path);
        }
    }

    private StoredCertificate? ParseCertificate(string file)
    {
        try
        {
            return StoredCertificate.Parse(File.ReadAllText(file));
        }
        catch (Exception e) when (e is CryptographicException or ArgumentException or IOException or UnauthorizedAccessException)
        {
            _log.CertificateUnreadable(file, e.Message);
            return null;
        }
    }

    private T? Read<T>(string file, JsonTypeInfo<T> type)
        where T : class => AcmeStore.ReadRecord(file, type, _log);

    private void Delete(string file)
    {
        if (File.Exists(file))
        {
            _files.Delete(file);
        }
    }
}

/// <summary>A certificate, and the file that it is in. Two are equal if neither was replaced.</summary>
internal sealed record InstalledCertificate(string File, StoredCertificate Certificate);
