using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Tickets;

/// <summary>
/// The keys of tickets (RFC 5077, section 4; TLS 1.3 has the same need), shared by all reactors and by the contexts of every host:
/// sessions are kept by clients, and resumed wherever they come back. One key makes tickets; the one before it still opens them. Any
/// thread.
/// </summary>
internal sealed unsafe class TicketKeys : IDisposable
{
    public const int Opened = 1;
    public const int OpenedAndRenew = 2;

    private const int Failed = -1;
    private const int Unknown = 0;

    private const int VectorBytes = 16;

    private static readonly nint Cipher = FetchCipher();

    /// <summary>Held for a microsecond once or twice in a handshake: a key must not be given back while it is being used.</summary>
    private readonly Lock _keys = new();
    private readonly TimeProvider _clock;
    private readonly TimeSpan _lifetime;
    private TicketKey? _current;
    private TicketKey? _previous;
    private long _madeAt;

    public TicketKeys(TimeSpan lifetime, TimeProvider? clock = null)
    {
        _clock = clock ?? TimeProvider.System;
        _lifetime = lifetime;
        _current = TicketKey.TryMake() ?? throw new TlsException($"There is no randomness for keys: {OpenSslErrors.Drain()}.");
        _madeAt = _clock.GetTimestamp();
    }

    /// <summary>For a new ticket: the key's name and a fresh vector, and the two contexts made ready.</summary>
    public int Protect(byte* name, byte* vector, nint cipher, nint mac)
    {
        lock (_keys)
        {
            RotateIfDue();
            if (_current is null || LibCrypto.RAND_bytes(vector, VectorBytes) != 1)
            {
                return Failed;
            }

            _current.Name.CopyTo(new Span<byte>(name, TicketKey.NameBytes));
            return LibCrypto.EVP_EncryptInit_ex(cipher, Cipher, 0, _current.CipherKey, vector) == 1 && Authenticate(mac, _current)
                ? Opened
                : Failed;
        }
    }

    /// <summary>For a ticket that came back: the contexts made ready with the key that made it, if that is still there.</summary>
    public int Unprotect(byte* name, byte* vector, nint cipher, nint mac)
    {
        lock (_keys)
        {
            RotateIfDue();
            var named = new ReadOnlySpan<byte>(name, TicketKey.NameBytes);
            TicketKey? key = _current is not null && named.SequenceEqual(_current.Name) ? _current
                : _previous is not null && named.SequenceEqual(_previous.Name) ? _previous
                : null;
            if (key is null)
            {
                return Unknown;
            }

            bool isReady = LibCrypto.EVP_DecryptInit_ex(cipher, Cipher, 0, key.CipherKey, vector) == 1 && Authenticate(mac, key);
            return !isReady ? Failed : key == _current ? Opened : OpenedAndRenew;
        }
    }

    public void Dispose()
    {
        lock (_keys)
        {
            _current?.Dispose();
            _previous?.Dispose();
            _current = _previous = null;
        }
    }

    private static bool Authenticate(nint mac, TicketKey key)
    {
        fixed (byte* digestName = "digest\0"u8, digest = "SHA256\0"u8)
        {
            OsslParameter* parameters = stackalloc OsslParameter[2];
            parameters[0] = new OsslParameter
            {
                Key = digestName,
                DataType = OsslParameter.Utf8String,
                Data = digest,
                DataBytes = (nuint)"SHA256"u8.Length,
            };
            parameters[1] = default;
            return LibCrypto.EVP_MAC_init(mac, key.MacKey, TicketKey.MacKeyBytes, parameters) == 1;
        }
    }

    private void RotateIfDue()
    {
        if (_current is null || _clock.GetElapsedTime(_madeAt) < _lifetime)
        {
            return;
        }

        // OpenSSL asks, and no exception may cross it: without a new key the present one stays until the next time.
        if (TicketKey.TryMake() is not { } next)
        {
            return;
        }

        // Who was not asked for longer than two lifetimes has none that may still open anything.
        bool isOld = _clock.GetElapsedTime(_madeAt) >= 2 * _lifetime;
        _previous?.Dispose();
        _previous = _current;
        _current = next;
        _madeAt = _clock.GetTimestamp();
        if (isOld)
        {
            _previous.Dispose();
            _previous = null;
        }
    }

    private static nint FetchCipher()
    {
        fixed (byte* name = "AES-256-CBC\0"u8)
        {
            return LibCrypto.EVP_CIPHER_fetch(0, name, null);
        }
    }
}
