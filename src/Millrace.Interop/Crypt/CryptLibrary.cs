using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using System.Security.Cryptography;

namespace Millrace.Interop.Crypt;

/// <summary>
/// libcrypt, the system's password hashes (<c>crypt(5)</c>): bcrypt, yescrypt, SHA-512 and others. Loaded at run time, because not every
/// system has it, and never unloaded. Any thread, concurrently.
/// </summary>
internal sealed unsafe class CryptLibrary
{
    /// <summary>libxcrypt is .so.1 where it replaces glibc's old library (Debian, Ubuntu, SUSE, Arch), .so.2 elsewhere (Fedora).</summary>
    internal static readonly string[] Names = ["libcrypt.so.1", "libcrypt.so.2"];

    /// <summary>
    /// <c>CRYPT_SALT_INVALID</c> and <c>CRYPT_SALT_METHOD_DISABLED</c>; other results are usable, even if only too cheap.
    /// </summary>
    private const int SaltInvalid = 1;
    private const int SaltMethodDisabled = 2;

    private readonly delegate* unmanaged<byte*, byte*, void*, int, byte*> _cryptRn;

    /// <summary>Null before libxcrypt 4.3.</summary>
    private readonly delegate* unmanaged<byte*, int> _checkSalt;

    private CryptLibrary(nint cryptRn, nint checkSalt)
    {
        _cryptRn = (delegate* unmanaged<byte*, byte*, void*, int, byte*>)cryptRn;
        _checkSalt = (delegate* unmanaged<byte*, int>)checkSalt;
    }

    /// <summary>The longest phrase, without its terminating zero.</summary>
    public static int PhraseBytesMax => CryptData.InputBytes - 1;

    public static int HashBytesMax => CryptData.OutputBytes - 1;

    public static bool TryLoad([NotNullWhen(true)] out CryptLibrary? library) => TryLoad(Names, out library);

    internal static bool TryLoad(IEnumerable<string> names, [NotNullWhen(true)] out CryptLibrary? library)
    {
        foreach (string name in names)
        {
            if (!NativeLibrary.TryLoad(name, out nint handle))
            {
                continue;
            }

            // crypt_rn gets the size of its memory and checks it: a library with another layout refuses instead of overrunning it.
            if (NativeLibrary.TryGetExport(handle, "crypt_rn", out nint cryptRn))
            {
                _ = NativeLibrary.TryGetExport(handle, "crypt_checksalt", out nint checkSalt);
                library = new CryptLibrary(cryptRn, checkSalt);
                return true;
            }

            NativeLibrary.Free(handle);
        }

        library = null;
        return false;
    }

    /// <summary>Whether this library supports the method of a hash, by its prefix. True for an old library that cannot tell.</summary>
    public bool Knows(ReadOnlySpan<byte> setting)
    {
        if (_checkSalt == null)
        {
            return true;
        }

        if (!Fits(setting, CryptData.SettingBytes))
        {
            return false;
        }

        Span<byte> settingZ = stackalloc byte[setting.Length + 1];
        setting.CopyTo(settingZ);
        settingZ[^1] = 0;
        fixed (byte* settingPtr = settingZ)
        {
            return _checkSalt(settingPtr) is not (SaltInvalid or SaltMethodDisabled);
        }
    }

    /// <summary>
    /// Hashes a phrase with a setting (or a whole hash, which starts with its setting). Takes milliseconds to seconds and up to tens of
    /// MiB, depending on the setting. False if the setting is not valid, or the phrase is too long or contains a zero byte, after which the
    /// rest would be ignored.
    /// </summary>
    public bool TryHash(ReadOnlySpan<byte> phrase, ReadOnlySpan<byte> setting, Span<byte> hash, out int hashBytes)
    {
        hashBytes = 0;
        if (!Fits(phrase, CryptData.InputBytes) || !Fits(setting, CryptData.SettingBytes))
        {
            return false;
        }

        var data = (CryptData*)NativeMemory.AllocZeroed((nuint)sizeof(CryptData));
        try
        {
            phrase.CopyTo(new Span<byte>(data->Input, CryptData.InputBytes));
            setting.CopyTo(new Span<byte>(data->Setting, CryptData.SettingBytes));
            byte* output = _cryptRn(data->Input, data->Setting, data, sizeof(CryptData));
            ReadOnlySpan<byte> made = output == null ? default : MemoryMarshal.CreateReadOnlySpanFromNullTerminated(output);

            // crypt(3)'s failure token starts with '*', which no hash does.
            if (made.IsEmpty || made[0] == '*' || !made.TryCopyTo(hash))
            {
                return false;
            }

            hashBytes = made.Length;
            return true;
        }
        finally
        {
            CryptographicOperations.ZeroMemory(new Span<byte>(data, sizeof(CryptData)));
            NativeMemory.Free(data);
        }
    }

    private static bool Fits(ReadOnlySpan<byte> text, int roomBytes) => text.Length < roomBytes && !text.Contains((byte)0);
}

/// <summary>
/// <c>struct crypt_data</c> of libxcrypt, the work area of <c>crypt_rn(3)</c>: 32,768 bytes on every architecture, zeroed before the first
/// call. (glibc's own, until 2.28, had 131,232; that library has no <c>crypt_rn</c> and is not used.)
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = 32768)]
internal unsafe struct CryptData
{
    public const int OutputBytes = 384;
    public const int SettingBytes = 384;
    public const int InputBytes = 512;

    [FieldOffset(0)] public fixed byte Output[OutputBytes];

    /// <summary>For the caller: space for the setting during the call.</summary>
    [FieldOffset(384)] public fixed byte Setting[SettingBytes];

    /// <summary>For the caller: space for the phrase during the call.</summary>
    [FieldOffset(768)] public fixed byte Input[InputBytes];
}
