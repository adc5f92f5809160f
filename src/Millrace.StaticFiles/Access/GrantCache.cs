using System.Security.Cryptography;

namespace Millrace.StaticFiles.Access;

/// <summary>
/// Credentials that were verified lately, so that a browser's next request costs a microsecond and not a hash. Holds no password: an
/// entry is an HMAC over user, password and the hash they matched, by a key of this cache alone. Its size is fixed; the oldest of four
/// neighbours makes way. Any thread may call; looking up allocates nothing and takes no lock.
/// </summary>
internal sealed class GrantCache(TimeProvider time)
{
    /// <summary>How long a grant holds. It ends sooner when the user's hash changes, which is part of its key.</summary>
    public static readonly TimeSpan Lifetime = TimeSpan.FromMinutes(5);

    /// <summary>Sets of four: 4,096 users at work within five minutes, in about half a MiB.</summary>
    public const int SetCount = 1024;
    private const int Ways = 4;

    private readonly byte[] _key = RandomNumberGenerator.GetBytes(HMACSHA256.HashSizeInBytes);
    private readonly Grant?[] _grants = new Grant?[SetCount * Ways];

    public bool Holds(in Login login)
    {
        Span<byte> digest = stackalloc byte[HMACSHA256.HashSizeInBytes];
        login.Digest(_key, digest);
        foreach (ref Grant? slot in SetOf(digest))
        {
            if (Volatile.Read(ref slot) is Grant grant && CryptographicOperations.FixedTimeEquals(grant.Digest, digest))
            {
                return !IsOver(grant);
            }
        }

        return false;
    }

    /// <summary>Two threads that add at once may leave one of the two: it is verified again.</summary>
    public void Add(in Login login)
    {
        byte[] digest = new byte[HMACSHA256.HashSizeInBytes];
        login.Digest(_key, digest);
        Span<Grant?> set = SetOf(digest);
        ref Grant? oldest = ref set[0];
        foreach (ref Grant? slot in set)
        {
            Grant? grant = Volatile.Read(ref slot);
            if (grant is null || grant.Digest.AsSpan().SequenceEqual(digest))
            {
                oldest = ref slot;
                break;
            }

            if (grant.Since < Volatile.Read(ref oldest)!.Since)
            {
                oldest = ref slot;
            }
        }

        Volatile.Write(ref oldest, new Grant(digest, time.GetTimestamp()));
    }

    private bool IsOver(Grant grant) => time.GetElapsedTime(grant.Since) >= Lifetime;

    /// <summary>An HMAC's bytes are as good as random, and nobody can aim them.</summary>
    private Span<Grant?> SetOf(ReadOnlySpan<byte> digest) =>
        _grants.AsSpan((digest[0] | (digest[1] << 8)) % SetCount * Ways, Ways);

    private sealed record Grant(byte[] Digest, long Since);
}
