using System.Security.Cryptography;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;

namespace Millrace.Acme.Storage;

/// <summary>
/// The folder of one certificate: the certificate itself, its order under way and the state of its renewal. What is not readable is logged
/// and treated as absent. Written by the process that holds the store's lock, one thread at a time; read by any.
/// </summary>
internal sealed class CertificateFolder(string path, AtomicFiles files, AcmeLog log)
{
    private readonly string _order = Path.Combine(path, "order.json");
    private readonly string _state = Path.Combine(path, "renewal.json");

    public string CertificateFile { get; } = Path.Combine(path, "certificate.pem");

    public FolderStamp Stamp => new(StampOf(CertificateFile), StampOf(_state));

    public StoredCertificate? ReadCertificate()
    {
        try
        {
            return File.Exists(CertificateFile) ? StoredCertificate.Parse(File.ReadAllText(CertificateFile)) : null;
        }
        catch (Exception e) when (e is CryptographicException or ArgumentException or IOException or UnauthorizedAccessException)
        {
            log.CertificateUnreadable(CertificateFile, e.Message);
            return null;
        }
    }

    public PendingOrder? ReadOrder() => Read(_order, StoredJson.Default.PendingOrder);

    public RenewalState ReadState()
    {
        RenewalState state = Read(_state, StoredJson.Default.RenewalState) ?? new RenewalState();

        // Null if the file does not have it: generated readers leave out the initial values of init properties.
        return state.FailedChallenges is null ? state with { FailedChallenges = [] } : state;
    }

    public void Install(StoredCertificate certificate)
    {
        AcmeStore.CreateFolder(path);
        files.Write(CertificateFile, certificate.Pem);
    }

    public void WriteOrder(PendingOrder order)
    {
        AcmeStore.CreateFolder(path);
        files.Write(_order, JsonSerializer.Serialize(order, StoredJson.Default.PendingOrder));
    }

    public void DeleteOrder()
    {
        if (File.Exists(_order))
        {
            files.Delete(_order);
        }
    }

    public void WriteState(RenewalState state)
    {
        AcmeStore.CreateFolder(path);
        files.Write(_state, JsonSerializer.Serialize(state, StoredJson.Default.RenewalState));
    }

    /// <summary>The record in a file; null, and a warning, if it is not readable.</summary>
    private T? Read<T>(string file, JsonTypeInfo<T> type)
        where T : class => AcmeStore.ReadRecord(file, type, log);

    private static FileStamp? StampOf(string file)
    {
        var info = new FileInfo(file);
        return info.Exists ? new FileStamp(info.LastWriteTimeUtc, info.Length) : null;
    }
}

/// <summary>Differs after the certificate or the state was replaced.</summary>
internal readonly record struct FolderStamp(FileStamp? Certificate, FileStamp? State);

internal readonly record struct FileStamp(DateTime Modified, long Bytes);
