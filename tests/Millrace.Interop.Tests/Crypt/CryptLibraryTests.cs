using System.Text;
using Millrace.Interop.Crypt;

namespace Millrace.Interop.Tests.Crypt;

public class CryptLibraryTests
{
    private static readonly CryptLibrary Library =
        CryptLibrary.TryLoad(out CryptLibrary? library) ? library : throw new InvalidOperationException("No libcrypt on this machine.");

    /// <summary>The published vectors of bcrypt; SHA-256 and SHA-512 by OpenSSL's own code; yescrypt has this library only.</summary>
    [Theory]
    [InlineData("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")]
    [InlineData("U*U", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")]
    [InlineData("U*U", "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")]
    [InlineData("Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5")]
    [InlineData("Hello world!", "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1")]
    [InlineData("secret", "$y$j9T$h6Bmt6iKVkwbaQLg4oMCJ1$ZIIXsQjRebrWbKCcXHrxCfD1F5bUCGHp.5eswAul8cB")]
    public void A_phrase_hashed_as_its_own_hash_asks_gives_that_hash(string phrase, string hash)
    {
        Assert.Equal(hash, Hash(phrase, hash));
        Assert.NotEqual(hash, Hash(phrase + "!", hash));
    }

    [Theory]
    [InlineData("")]
    [InlineData("*0")]
    [InlineData("$9$nonsense")]
    [InlineData("$2y$99$CCCCCCCCCCCCCCCCCCCCC.")]
    public void A_setting_that_is_none_gives_no_hash(string setting) => Assert.Null(Hash("secret", setting));

    [Fact]
    public void A_phrase_may_be_as_long_as_the_library_takes_and_no_longer()
    {
        string longest = new('a', CryptLibrary.PhraseBytesMax);

        Assert.NotNull(Hash(longest, "$5$rounds=1000$salt"));
        Assert.Null(Hash(longest + "a", "$5$rounds=1000$salt"));
        Assert.Null(Hash("secret", "$5$" + new string('a', CryptLibrary.HashBytesMax)));
    }

    [Fact]
    public void A_zero_byte_does_not_cut_a_phrase_short()
    {
        Assert.Null(Hash("secret\0tail", "$5$rounds=1000$salt"));
        Assert.Null(Hash("secret", "$5$rounds=1000$salt\0"));
    }

    [Fact]
    public void A_hash_that_does_not_fit_is_refused() =>
        Assert.False(Library.TryHash("secret"u8, "$5$rounds=1000$salt"u8, new byte[10], out _));

    [Theory]
    [InlineData("$2y$05$CCCCCCCCCCCCCCCCCCCCC.", true)]
    [InlineData("$y$j9T$h6Bmt6iKVkwbaQLg4oMCJ1", true)]
    [InlineData("$5$saltstring", true)]
    [InlineData("$apr1$YvTC0Il8$", false)]
    [InlineData("$9$salt", false)]
    public void The_library_says_which_methods_it_was_built_with(string setting, bool isKnown) =>
        Assert.Equal(isKnown, Library.Knows(Encoding.ASCII.GetBytes(setting)));

    [Fact]
    public void A_library_that_is_not_there_or_is_another_one_is_not_loaded()
    {
        Assert.False(CryptLibrary.TryLoad(["libcrypt.so.999"], out _));
        Assert.False(CryptLibrary.TryLoad(["libc.so.6"], out _));
        Assert.True(CryptLibrary.TryLoad(["libcrypt.so.999", "libc.so.6", .. CryptLibrary.Names], out _));
    }

    [Fact]
    public async Task Threads_hash_at_the_same_time_without_mixing_results()
    {
        string[] settings = [.. Enumerable.Range(0, 8).Select(i => $"$5$rounds=1000$salt{i}")];
        string?[] expected = [.. settings.Select(setting => Hash("secret", setting))];

        string?[][] made = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ =>
            Task.Run(() => settings.Select(setting => Hash("secret", setting)).ToArray())));

        Assert.All(made, hashes => Assert.Equal(expected, hashes));
    }

    private static string? Hash(string phrase, string setting)
    {
        Span<byte> hash = stackalloc byte[CryptLibrary.HashBytesMax];
        return Library.TryHash(Encoding.UTF8.GetBytes(phrase), Encoding.UTF8.GetBytes(setting), hash, out int hashBytes)
            ? Encoding.ASCII.GetString(hash[..hashBytes])
            : null;
    }
}
