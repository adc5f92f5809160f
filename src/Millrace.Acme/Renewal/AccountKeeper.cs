using System.Security.Cryptography;
using Millrace.Acme.Protocol;
using Millrace.Acme.Storage;

namespace Millrace.Acme.Renewal;

/// <summary>
/// The account that orders are made with: the stored one, or a new one. One that the authority does not accept any more is replaced, at
/// most once an hour. Any thread; it owns the keys, which live as long as it does, since a loop may still sign with the previous one.
/// </summary>
internal sealed class AccountKeeper(
    AccountFolder folder, AcmeRequests requests, AcmeOptions options, TimeProvider clock, AcmeLog log) : IDisposable
{
    private static readonly TimeSpan ReplacementInterval = TimeSpan.FromHours(1);
    private readonly SemaphoreSlim _turn = new(1);
    private readonly List<ECDsa> _keys = [];
    private AcmeAccount? _account;
    private DateTimeOffset? _replaced;

    private string Authority => options.DirectoryUrl.Host;

    /// <exception cref="AcmeException">The authority makes no account now.</exception>
    public async Task<AcmeAccount> GetAsync(CancellationToken cancel)
    {
        await _turn.WaitAsync(cancel);
        try
        {
            return _account ??= await LoadAsync(cancel);
        }
        finally
        {
            _turn.Release();
        }
    }

    /// <summary>
    /// Finds out whether the account is the reason of a refusal, and replaces it if it is. False: the refusal has another reason, or the
    /// last replacement was within the hour.
    /// </summary>
    public async Task<bool> TryReplaceAsync(AcmeAccount refused, AcmeException refusal, CancellationToken cancel)
    {
        await _turn.WaitAsync(cancel);
        try
        {
            if (_account is not null && _account != refused)
            {
                // Another loop was faster.
                return true;
            }

            AcmeAccount? found = await FindAsync(refused.Key, cancel);
            if (found?.Url == refused.Url || !MayReplace)
            {
                return false;
            }

            log.AccountLost(Authority, refused.Url.ToString(), AcmeProblems.Describe(refusal.Problem));
            _account = found is null ? await ReplaceAsync(cancel) : Store(found, clock.GetUtcNow());
            return true;
        }
        finally
        {
            _turn.Release();
        }
    }

    public void Dispose()
    {
        _keys.ForEach(static key => key.Dispose());
        _turn.Dispose();
    }

    private bool MayReplace => _replaced is not { } replaced || (clock.GetUtcNow() - replaced).Duration() >= ReplacementInterval;

    private async Task<AcmeAccount> LoadAsync(CancellationToken cancel)
    {
        if (folder.ReadKey(clock.GetUtcNow()) is not { } key)
        {
            return await RegisterAsync(cancel);
        }

        if (folder.ReadAccount() is { } stored)
        {
            _keys.Add(key);
            _replaced = stored.Replaced;
            return new AcmeAccount(key, stored.Url);
        }

        try
        {
            return await TakeAsync(key, cancel);
        }
        catch (AcmeException e) when (e.MayBeAboutAccount() && options.ExternalAccount is null && MayReplace)
        {
            log.AccountLost(Authority, "of the stored key", AcmeProblems.Describe(e.Problem));
            return await ReplaceAsync(cancel);
        }
    }

    private async Task<AcmeAccount> ReplaceAsync(CancellationToken cancel)
    {
        _replaced = clock.GetUtcNow();
        _account = null;
        folder.SetKeyAside(_replaced.Value);
        return await RegisterAsync(cancel);
    }

    /// <summary>The key is stored first: whatever happens then, the account is found again by its key.</summary>
    private async Task<AcmeAccount> RegisterAsync(CancellationToken cancel)
    {
        ECDsa key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        folder.WriteKey(key);
        return await TakeAsync(key, cancel);
    }

    /// <summary>Owns a key from here on. It is read again for the next attempt if this one fails.</summary>
    private async Task<AcmeAccount> TakeAsync(ECDsa key, CancellationToken cancel)
    {
        try
        {
            AcmeAccount account = Store(await CreateAsync(key, cancel), _replaced);
            _keys.Add(key);
            return account;
        }
        catch
        {
            key.Dispose();
            throw;
        }
    }

    private AcmeAccount Store(AcmeAccount account, DateTimeOffset? replaced)
    {
        _replaced = replaced;
        folder.WriteAccount(new StoredAccount { Directory = options.DirectoryUrl, Url = account.Url, Replaced = replaced });
        log.AccountMade(Authority, account.Url.AbsoluteUri);
        return account;
    }

    /// <summary>The account that the authority has for a key; null if it refuses the key.</summary>
    private async Task<AcmeAccount?> FindAsync(ECDsa key, CancellationToken cancel)
    {
        try
        {
            return await CreateAsync(key, cancel);
        }
        catch (AcmeException e) when (e.MayBeAboutAccount())
        {
            return null;
        }
    }

    private Task<AcmeAccount> CreateAsync(ECDsa key, CancellationToken cancel) => requests.RunAsync(
        client => client.CreateAccountAsync(key, options.Email, options.ExternalAccount, cancel), cancel);
}
