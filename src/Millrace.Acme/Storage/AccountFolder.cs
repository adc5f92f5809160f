using System.Globalization;
using System.Security.Cryptography;
using System.Text.Json;

namespace Millrace.Acme.Storage;

/// <summary>
/// The folder of the account with one authority: its key, and its URL once that is known. No key is ever deleted: one that cannot be used
/// any more gets another name. Used by the process that holds the store's lock, one thread at a time.
/// </summary>
internal sealed class AccountFolder(string path, Uri directory, AtomicFiles files, AcmeLog log)
{
    private readonly string _key = Path.Combine(path, "account.key");
    private readonly string _account = Path.Combine(path, "account.json");

    /// <summary>The key; null if there is none yet. The caller owns it. A key that is not readable is set aside.</summary>
    public ECDsa? ReadKey(DateTimeOffset now)
    {
        if (!File.Exists(_key))
        {
            return null;
        }

        ECDsa key = ECDsa.Create();
        try
        {
            key.ImportFromPem(File.ReadAllText(_key));
            if (key.ExportParameters(includePrivateParameters: true).Curve.Oid.Value == ECCurve.NamedCurves.nistP256.Oid.Value)
            {
                return key;
            }

            log.AccountKeyUnreadable(_key, "it is not a key on P-256");
        }
        catch (Exception e) when (e is CryptographicException or ArgumentException)
        {
            log.AccountKeyUnreadable(_key, e.Message);
        }

        key.Dispose();
        SetKeyAside(now);
        return null;
    }

    /// <summary>Before the authority is asked to register it: whatever happens then, the account is found again by its key.</summary>
    public void WriteKey(ECDsa key)
    {
        AcmeStore.CreateFolder(path);
        files.Write(_key, key.ExportPkcs8PrivateKeyPem());
    }

    public StoredAccount? ReadAccount()
    {
        if (AcmeStore.ReadRecord(_account, StoredJson.Default.StoredAccount, log) is not { } account)
        {
            return null;
        }

        if (account.Directory == directory)
        {
            return account;
        }

        log.FileUnreadable(_account, $"it is of an account with {account.Directory}");
        return null;
    }

    public void WriteAccount(StoredAccount account)
    {
        AcmeStore.CreateFolder(path);
        files.Write(_account, JsonSerializer.Serialize(account, StoredJson.Default.StoredAccount));
    }

    public void SetKeyAside(DateTimeOffset now)
    {
        string time = now.UtcDateTime.ToString("yyyyMMdd'T'HHmmss", CultureInfo.InvariantCulture);
        string aside = Path.Combine(path, $"account-until-{time}.key");
        for (int i = 2; File.Exists(aside); i++)
        {
            aside = Path.Combine(path, $"account-until-{time}-{i}.key");
        }

        // First: a URL must never stand beside another account's key.
        if (File.Exists(_account))
        {
            files.Delete(_account);
        }

        files.Rename(_key, aside);
    }
}
