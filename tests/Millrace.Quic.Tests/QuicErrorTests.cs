using Millrace.Quic.Frames;

namespace Millrace.Quic.Tests;

public class QuicErrorTests
{
    [Fact]
    [Trait("Rfc", "9000-20.1")]
    public void Codes_have_the_values_of_the_rfc()
    {
        Assert.Equal(
            Enumerable.Range(0, 18).Append(0x100).ToArray(),
            Enum.GetValues<TransportErrorCode>().Select(code => (int)code).Order().ToArray());
        Assert.Equal(3, (int)TransportErrorCode.FlowControlError);
        Assert.Equal(6, (int)TransportErrorCode.FinalSizeError);
        Assert.Equal(13, (int)TransportErrorCode.CryptoBufferExceeded);
    }

    [Fact]
    [Trait("Rfc", "9001-4.8")]
    public void An_alert_is_a_code_above_256()
    {
        QuicError error = QuicError.OfAlert(120, "no protocol");

        Assert.Equal(0x178, error.Code);
        Assert.Equal(FrameType.Crypto, error.FrameType);
        Assert.False(error.Is(TransportErrorCode.CryptoError));
        Assert.True(new QuicError(TransportErrorCode.NoError, "").Is(TransportErrorCode.NoError));
        Assert.False(QuicError.OfApplication(0, "").Is(TransportErrorCode.NoError));
    }
}
