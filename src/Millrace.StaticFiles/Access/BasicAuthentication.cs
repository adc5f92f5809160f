using System.Security.Cryptography;
using System.Text;
using Millrace.Http;
using Millrace.Interop;
using Millrace.Interop.Crypt;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Basic authentication (RFC 7617) against a password file. <see cref="Decide"/> decides without hashing; <see cref="VerifyAsync"/> hashes
/// on other threads. The file is checked every second, and changes apply to already granted users, too. Callable on any thread.
/// </summary>
internal sealed class BasicAuthentication : IDisposable
{
    private static readonly TimeSpan CheckInterval = TimeSpan.FromSeconds(1);

    /// <summary>Base64 of the longest credentials, and the scheme's name.</summary>
    private const int AuthorizationBytesMax = (UserCredentials.CredentialBytesMax / 3 * 4) + 16;

    private readonly PasswordFile _file;
    private readonly CryptLibrary _library;
    private readonly TimeProvider _time;
    private readonly Action<SiteException>? _onRefused;
    private readonly VerificationQueue _queue;
    private readonly ITimer _check;
    private readonly byte[] _challenge;
    private State _current;
    private string? _refusalReported;

    private BasicAuthentication(
        PasswordFile file, CryptLibrary library, byte[] challenge, Action<SiteException>? onRefused, TimeProvider time)
    {
        _file = file;
        _library = library;
        _challenge = challenge;
        _onRefused = onRefused;
        _time = time;
        _current = new State(file.Table, new CredentialCache(time));
        _queue = new VerificationQueue(VerificationQueue.DefaultThreadCount, Verify);
        _check = time.CreateTimer(_ => Refresh(), null, CheckInterval, CheckInterval);
    }

    public ReadOnlySpan<byte> Challenge => _challenge;

    /// <summary>Whether the file has no users, so that nobody is let in.</summary>
    public bool IsEmpty => _file.Table.Count == 0;

    /// <summary>
    /// Throws <see cref="SiteException"/> if the file cannot be used, or this system cannot hash passwords. Reports once, on the thread
    /// pool, why a file that changed later is not used.
    /// </summary>
    public static BasicAuthentication Open(
        string passwordFile, string realm, Action<SiteException>? onRefused = null, TimeProvider? time = null)
    {
        byte[] challenge = ChallengeFor(realm);
        if (!CryptLibrary.TryLoad(out CryptLibrary? library))
        {
            int shortage = FileProblem.DescriptorShortage();
            string cause = shortage == 0 ? "this system has no libcrypt with crypt_rn" : Errno.Describe(shortage);
            throw new SiteException(
                $"Passwords cannot be verified: {cause}.",
                FileProblem.RemedyOf(shortage, "Install libxcrypt (package libcrypt1 or libxcrypt)."))
            {
                IsMistake = false,
            };
        }

        if (OpenSslPresence.Missing is { } missing)
        {
            throw new SiteException(
                $"Passwords cannot be verified: this needs OpenSSL 3, and {missing} cannot be loaded.", OpenSslPresence.Remedy)
            {
                IsMistake = false,
            };
        }

        return new BasicAuthentication(
            PasswordFile.Open(passwordFile, library), library, challenge, onRefused, time ?? TimeProvider.System);
    }

    /// <summary>Throws if the file is inside the site's root. Even then the site does not serve it while the server uses it.</summary>
    public void RequireUnserved(CatalogSnapshot site)
    {
        foreach (SkippedEntry entry in site.Skipped.Where(static entry => entry.Reason == SkipReason.Private))
        {
            if (site.Root.Stat(Encoding.UTF8.GetBytes(entry.Path[1..] + "\0"), out FileState state) == 0 && _file.Is(state))
            {
                throw new SiteException(
                    $"The password file is in the root, as '{entry.Path}', among what is served.",
                    "Keep it outside the root, or let its name begin with a dot where dotfiles are hidden.");
            }
        }
    }

    /// <summary>
    /// Decides without hashing, never <see cref="AccessDecision.Overloaded"/>. For reactors: takes one or two microseconds and allocates
    /// nothing.
    /// </summary>
    public AccessDecision Decide(ReadOnlySpan<byte> authorization)
    {
        if (authorization.IsEmpty || authorization.Length > AuthorizationBytesMax)
        {
            return AccessDecision.Denied;
        }

        Span<byte> decoded = stackalloc byte[UserCredentials.CredentialBytesMax];
        AccessDecision decision = AccessDecision.Denied;
        if (BasicCredentials.TryDecode(authorization, decoded, out ReadOnlySpan<byte> user, out ReadOnlySpan<byte> password))
        {
            // An unknown user takes the same path: the cache has no entry for it.
            State current = Volatile.Read(ref _current);
            var credentials = new UserCredentials(user, password, current.Table.HashOf(user, out _));
            decision = current.Cache.Contains(credentials) ? AccessDecision.Granted : AccessDecision.Unverified;
        }

        CryptographicOperations.ZeroMemory(decoded);
        return decision;
    }

    /// <summary>
    /// Verifies credentials that are <see cref="AccessDecision.Unverified"/>. Completes on the thread pool, or at once.
    /// </summary>
    /// <param name="authorization">A copy of the field's value; this object takes ownership and wipes it.</param>
    public Task<AccessDecision> VerifyAsync(byte[] authorization) => _queue.VerifyAsync(authorization);

    /// <summary>Checks the file now.</summary>
    public void Refresh()
    {
        if (_file.Refresh())
        {
            Volatile.Write(ref _current, new State(_file.Table, new CredentialCache(_time)));
        }

        SiteException? refusal = _file.Refusal;
        if (Interlocked.Exchange(ref _refusalReported, refusal?.Message) != refusal?.Message && refusal is not null)
        {
            _onRefused?.Invoke(refusal);
        }
    }

    public void Dispose()
    {
        _check.Dispose();
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
        Span<byte> decoded = stackalloc byte[UserCredentials.CredentialBytesMax];
        bool isGranted = BasicCredentials.TryDecode(authorization, decoded, out ReadOnlySpan<byte> user, out ReadOnlySpan<byte> password)
            && Verify(user, password);
        CryptographicOperations.ZeroMemory(decoded);
        return isGranted;
    }

    private bool Verify(ReadOnlySpan<byte> user, ReadOnlySpan<byte> password)
    {
        State current = Volatile.Read(ref _current);
        var credentials = new UserCredentials(user, password, current.Table.HashOf(user, out bool isKnown));

        // A browser requests a page's parts on six connections: another one may have verified the same credentials while this one waited.
        if (current.Cache.Contains(credentials))
        {
            return true;
        }

        // Both operands are evaluated: an unknown user also costs a hash.
        bool isMatch = credentials.Matches(_library) & isKnown;
        if (isMatch)
        {
            current.Cache.Add(credentials);
        }

        return isMatch;
    }

    /// <summary>The content of the file, and the cache of credentials that it verified: they are replaced together.</summary>
    private sealed record State(PasswordTable Table, CredentialCache Cache);
}
