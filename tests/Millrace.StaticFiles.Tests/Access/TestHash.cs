using System.Text;
using Millrace.Interop.Crypt;

namespace Millrace.StaticFiles.Tests.Access;

/// <summary>Hashes made by libcrypt itself, as cheap as it allows.</summary>
internal static class TestHash
{
    public const string Bcrypt = "$2y$04$CCCCCCCCCCCCCCCCCCCCC.";
    public const string Sha512 = "$6$rounds=1000$saltstring";
    public const string Sha256 = "$5$rounds=1000$saltstring";
    public const string Yescrypt = "$y$j75$h6Bmt6iKVkwbaQLg4oMCJ1";

    /// <summary>Some ten milliseconds: what needs a hash can be distinguished from what does not.</summary>
    public const string Slow = "$2y$08$CCCCCCCCCCCCCCCCCCCCC.";

    public static readonly CryptLibrary Library =
        CryptLibrary.TryLoad(out CryptLibrary? library) ? library : throw new InvalidOperationException("No libcrypt on this machine.");

    public static string Of(string password, string setting = Bcrypt)
    {
        byte[] hash = new byte[CryptLibrary.HashBytesMax];
        Assert.True(Library.TryHash(Encoding.UTF8.GetBytes(password), Encoding.ASCII.GetBytes(setting), hash, out int bytes));
        return Encoding.ASCII.GetString(hash, 0, bytes);
    }
}
