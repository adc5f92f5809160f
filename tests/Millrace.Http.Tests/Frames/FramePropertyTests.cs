namespace Millrace.Http.Tests;

public class FramePropertyTests
{
    [Fact]
    public void Frames_are_read_as_by_the_reference() => Cases.Run(30_000, random =>
    {
        byte[] bytes = FrameGenerator.Any(random);
        int lengthMax = random.Pick(FrameHeader.DefaultLengthMax, FrameHeader.LengthMax);
        string described = Describe(bytes, lengthMax);
        Assert.Equal((Convert.ToHexString(bytes), ReferenceFrames.Describe(bytes, lengthMax)), (Convert.ToHexString(bytes), described));
    });

    [Fact]
    public void The_generator_makes_every_outcome_there_is()
    {
        // Otherwise agreement with the reference would say nothing about the outcomes that never came up.
        var seen = new HashSet<string>();
        for (int seed = 0; seed < 20_000; seed++)
        {
            string described = Describe(FrameGenerator.Any(new Random(seed)), FrameHeader.DefaultLengthMax);
            seen.Add(described.StartsWith("fault", StringComparison.Ordinal) ? described : described.Split(' ')[0]);
        }

        Assert.Equal(
            [
                "awaited", "data", "fault FlowControlError Connection", "fault FrameSizeError Connection", "fault FrameSizeError Stream",
                "fault ProtocolError Connection", "fault ProtocolError Stream", "goaway", "headers", "ignored", "more", "ping", "priority",
                "reset", "settings", "update", "window",
            ],
            seen.Order(StringComparer.Ordinal));
    }

    private static string Describe(byte[] bytes, int lengthMax)
    {
        FrameHeader header = FrameHeader.Read(bytes);
        ReadOnlySpan<byte> payload = bytes.AsSpan(FrameHeader.Size);
        return FrameDescription.Of(header, payload[..Math.Min(payload.Length, header.Length)], lengthMax);
    }
}
