using System.Security.Cryptography;
using System.Text;
using Millrace.Http;
using Millrace.Interop.Crypt;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Basic authentication (RFC 7617) against a password file. <see cref="Decide"/> says at once what can be said at once; the rest is
/// hashed on other threads. The file is looked at every second, and what it says from then on counts, for granted users too.
/// Any thread may call.
/// </summary>
internal sealed class BasicAuthentication : IDisposable
{
    private static readonly TimeSpan LookInterval = TimeSpan.FromSeconds(1);

    /// <summary>Base64 of the longest credentials, and the scheme's name.</summary>
    private const int AuthorizationBytesMax = (Login.CredentialBytesMax / 3 * 4) + 16;

    private readonly PasswordFile _file;
    private readonly CryptLibrary _library;
    private readonly TimeProvider _time;
    private readonly Action<SiteException>? _refused;
    private readonly VerificationQueue _queue;
    private readonly ITimer _look;
    private readonly byte[] _challenge;
    private Edition _current;
    private string? _refusalTold;

    private BasicAuthentication(
        PasswordFile file, CryptLibrary library, byte[] challenge, Action<SiteException>? refused, TimeProvider time)
    {
        _file = file;
        _library = library;
        _challenge = challenge;
        _refused = refused;
        _time = time;
        _current = new Edition(file.Table, new GrantCache(time));
        _queue = new VerificationQueue(VerificationQueue.UsualThreadCount, Verify);
        _look = time.CreateTimer(_ => Refresh(), null, LookInterval, LookInterval);
    }

    /// <summary>The value of WWW-Authenticate.</summary>
    public ReadOnlySpan<byte> Challenge => _challenge;

    /// <summary>Throws <see cref="SiteException"/> where the file cannot be used, or this system cannot hash passwords.</summary>
    /// <param name="passwordFile">The file's path.</param>
    /// <param name="realm">What a browser shows its user.</param>
    /// <param name="refused">Is told, once, why a changed file is not used. On the thread pool.</param>
    /// <param name="time">The clock.</param>
    public static BasicAuthentication Open(
        string passwordFile, string realm, Action<SiteException>? refused = null, TimeProvider? time = null)
    {
        byte[] challenge = ChallengeFor(realm);
        if (!CryptLibrary.TryLoad(out CryptLibrary? library))
        {
            throw new SiteException(
                "Passwords cannot be verified: this system has no libcrypt with crypt_rn.",
                "Install libxcrypt (package libcrypt1 or libxcrypt).");
        }

        return new BasicAuthentication(PasswordFile.Open(passwordFile, library), library, challenge, refused, time ?? TimeProvider.System);
    }

    /// <summary>Throws where a site would show its visitors the hashes of the others.</summary>
    public void RequireUnserved(CatalogSnapshot site)
    {
        foreach (SiteDirectory directory in site.Content.Table.Directories)
        {
            foreach (Asset asset in directory.Assets)
            {
                if (_file.Is(asset.State))
                {
                    throw new SiteException(
                        $"The password file would be served as '{Encoding.UTF8.GetString(asset.Path)}'.",
                        "Keep it outside the root, or let its name begin with a dot where dotfiles are hidden.");
                }
            }
        }
    }

    /// <summary>For a reactor: takes a microsecond or two and allocates nothing.</summary>
    /// <param name="authorization">The field's value, empty where there is none.</param>
    public AccessDecision Decide(ReadOnlySpan<byte> authorization)
    {
        if (authorization.IsEmpty || authorization.Length > AuthorizationBytesMax)
        {
            return AccessDecision.Denied;
        }

        Span<byte> decoded = stackalloc byte[Login.CredentialBytesMax];
        AccessDecision decision = AccessDecision.Denied;
        if (BasicCredentials.TryDecode(authorization, decoded, out ReadOnlySpan<byte> user, out ReadOnlySpan<byte> password))
        {
            // Somebody unknown goes the same way: their grant is never found, as none was ever given.
            Edition current = Volatile.Read(ref _current);
            var login = new Login(user, password, current.Table.HashOf(user, out _));
            decision = current.Grants.Holds(login) ? AccessDecision.Granted : AccessDecision.Unverified;
        }

        CryptographicOperations.ZeroMemory(decoded);
        return decision;
    }

    /// <summary>For credentials that are <see cref="AccessDecision.Unverified"/>. Completes on the thread pool, or at once.</summary>
    /// <param name="authorization">A copy of the field's value, which is taken over and wiped.</param>
    public Task<VerificationOutcome> VerifyAsync(byte[] authorization) => _queue.VerifyAsync(authorization);

    /// <summary>Looks at the file now.</summary>
    public void Refresh()
    {
        if (_file.Refresh())
        {
            Volatile.Write(ref _current, new Edition(_file.Table, new GrantCache(_time)));
        }

        SiteException? refusal = _file.Refusal;
        if (Interlocked.Exchange(ref _refusalTold, refusal?.Message) != refusal?.Message && refusal is not null)
        {
            _refused?.Invoke(refusal);
        }
    }

    public void Dispose()
    {
        _look.Dispose();
        _queue.Dispose();
    }

    /// <summary>RFC 7617, section 2; a quoted-string is RFC 9110, section 5.6.4.</summary>
    private static byte[] ChallengeFor(string realm)
    {
        if (realm.AsSpan().ContainsAnyInRange('\0', '\x1f') || realm.Contains('\x7f', StringComparison.Ordinal))
        {
            throw new SiteException("The realm holds control characters.", "Give a short line of text.");
        }

        string quoted = realm.Replace(@"\", @"\\", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal);
        return Encoding.UTF8.GetBytes($"Basic realm=\"{quoted}\", charset=\"UTF-8\"");
    }

    private bool Verify(byte[] authorization)
    {
        Span<byte> decoded = stackalloc byte[Login.CredentialBytesMax];
        bool isGranted = BasicCredentials.TryDecode(authorization, decoded, out ReadOnlySpan<byte> user, out ReadOnlySpan<byte> password)
            && Verify(user, password);
        CryptographicOperations.ZeroMemory(decoded);
        return isGranted;
    }

    private bool Verify(ReadOnlySpan<byte> user, ReadOnlySpan<byte> password)
    {
        Edition current = Volatile.Read(ref _current);
        var login = new Login(user, password, current.Table.HashOf(user, out bool isKnown));

        // A browser asks for a page's parts on six connections: while the first waited, another may have been granted the same.
        if (current.Grants.Holds(login))
        {
            return true;
        }

        // Both are known before either is looked at: an unknown user has cost a hash as well.
        bool isRight = login.IsRight(_library) & isKnown;
        if (isRight)
        {
            current.Grants.Add(login);
        }

        return isRight;
    }

    /// <summary>What a file said, and who was granted by it: they go together.</summary>
    private sealed record Edition(PasswordTable Table, GrantCache Grants);
}
