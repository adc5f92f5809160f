using Millrace.Quic.Protection;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Tests.Quic;

public sealed class QuicTokenTests : IDisposable
{
    private readonly QuicTokenKeys _keys = QuicTokenKeys.Create();
    private readonly OpenSslQuicCryptography _one;
    private readonly OpenSslQuicCryptography _other;

    public QuicTokenTests()
    {
        _one = new OpenSslQuicCryptography(_keys);
        _other = new OpenSslQuicCryptography(_keys);
    }

    public void Dispose()
    {
        _one.Dispose();
        _other.Dispose();
        _keys.Dispose();
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(1, 6)]
    [InlineData(60, 18)]
    [InlineData(200, 0)]
    [Trait("Rfc", "9000-8.1.4")]
    public void A_token_of_one_reactor_opens_at_another(int textLength, int associatedLength)
    {
        byte[] text = [.. Enumerable.Range(0, textLength).Select(static i => (byte)i)];
        byte[] associated = new byte[associatedLength];
        byte[] token = new byte[textLength + QuicCryptography.MaximumTokenOverhead];
        Assert.Equal(token.Length, _one.SealToken(text, associated, token));
        byte[] opened = new byte[256];
        Assert.True(_other.TryOpenToken(token, associated, opened, out int count));
        Assert.Equal(text, opened[..count]);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.4")]
    public void A_token_that_was_changed_shortened_or_made_for_another_address_or_by_another_server_is_refused()
    {
        byte[] token = new byte[20 + QuicCryptography.MaximumTokenOverhead];
        _one.SealToken(new byte[20], [1, 2, 3, 4], token);
        byte[] text = new byte[256];
        for (int i = 0; i < token.Length; i++)
        {
            byte[] forged = [.. token];
            forged[i] ^= 1;
            Assert.False(_one.TryOpenToken(forged, [1, 2, 3, 4], text, out _));
            Assert.False(_one.TryOpenToken(token.AsSpan(0, i), [1, 2, 3, 4], text, out _));
        }

        Assert.False(_one.TryOpenToken(token, [1, 2, 3, 5], text, out _));
        Assert.False(_one.TryOpenToken(token, [1, 2, 3, 4], new byte[19], out _));
        Assert.False(_one.TryOpenToken(new byte[4000], [1, 2, 3, 4], new byte[4000], out _));
        using QuicTokenKeys foreign = QuicTokenKeys.Create();
        using var stranger = new OpenSslQuicCryptography(foreign);
        Assert.False(stranger.TryOpenToken(token, [1, 2, 3, 4], text, out _));
        Assert.True(_one.TryOpenToken(token, [1, 2, 3, 4], text, out _));
    }

    [Fact]
    public void Two_tokens_with_the_same_text_differ_also_between_reactors()
    {
        var tokens = new HashSet<string>();
        byte[] token = new byte[QuicCryptography.MaximumTokenOverhead];
        for (int i = 0; i < 100; i++)
        {
            _one.SealToken([], [], token);
            Assert.True(tokens.Add(Convert.ToHexString(token)));
            _other.SealToken([], [], token);
            Assert.True(tokens.Add(Convert.ToHexString(token)));
        }
    }

    [Fact]
    [Trait("Rfc", "9000-10.3.2")]
    public void A_stateless_reset_token_depends_on_connection_id_and_server_and_on_no_reactor()
    {
        byte[] first = new byte[16];
        byte[] second = new byte[16];
        _one.GetStatelessResetToken([1, 2, 3], first);
        _other.GetStatelessResetToken([1, 2, 3], second);
        Assert.Equal(first, second);
        _one.GetStatelessResetToken([1, 2, 4], second);
        Assert.NotEqual(first, second);
        using QuicTokenKeys foreign = QuicTokenKeys.Create();
        using var stranger = new OpenSslQuicCryptography(foreign);
        stranger.GetStatelessResetToken([1, 2, 3], second);
        Assert.NotEqual(first, second);
    }
}
