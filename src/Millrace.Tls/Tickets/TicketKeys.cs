using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Tickets;

/// <summary>
/// The ticket keys (RFC 5077, section 4; also for TLS 1.3), shared by all reactors and by the contexts of every host: clients keep the
/// sessions and may resume them on any reactor. One key makes tickets; the previous one still decrypts them. Any thread.
/// </summary>
internal sealed unsafe class TicketKeys : IDisposable
{
    public const int Opened = 1;
    public const int OpenedAndRenew = 2;

    private const int Failed = -1;
    private const int Unknown = 0;

    private const int VectorBytes = 16;

    private static readonly nint Cipher = LibCrypto.EVP_CIPHER_fetch(0, "AES-256-CBC\0"u8, 0);

    /// <summary>Held for a microsecond once or twice per handshake: a key must not be freed while it is in use.</summary>
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
        if (Cipher == 0)
        {
            throw new TlsException("OpenSSL has no AES-256-CBC, which protects tickets: its configuration (openssl.cnf) must load the "
                + "default provider, or the FIPS one.");
        }

        _current = TicketKey.TryMake() ?? throw new TlsException($"OpenSSL has no randomness for ticket keys: {OpenSslErrors.Drain()}.");
        _madeAt = _clock.GetTimestamp();
    }

    /// <summary>Prepares both contexts for a new ticket; writes the key's name and a fresh vector.</summary>
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

    /// <summary>Prepares both contexts for a received ticket with its key, if that still exists.</summary>
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

        // Called from OpenSSL, which no exception may cross: without a new key the current one stays until the next time.
        if (TicketKey.TryMake() is not { } next)
        {
            return;
        }

        // After more than two lifetimes without a call the current key may not decrypt any more either.
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
}
