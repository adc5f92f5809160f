namespace Millrace.Http.Tests;

/// <summary>What a control stream says, RFC 9114 sections 5.2 and 7.2, RFC 9218 section 7.2.</summary>
public class Http3ControlReaderTests
{
    [Fact]
    [Trait("Rfc", "9114-7.2.4.1")]
    [Trait("Rfc", "9204-5")]
    [Trait("Rfc", "9220-3")]
    public void Settings_are_read_and_unknown_ones_are_ignored()
    {
        Says("Settings 0 9223372036854775807 0 0", "0400");
        Says("Settings 4096 65536 16 1", "0411 01 5000 06 80010000 07 10 08 01 33 01 40ff 00");
        Says("Settings 0 0 0 0", "0408 08 00 06 00 40 40 40 40");
    }

    [Theory]
    [Trait("Rfc", "9114-7.2.4")]
    [Trait("Rfc", "9114-7.2.4.1")]
    [InlineData("0402 00 00")]
    [InlineData("0402 02 00")]
    [InlineData("0402 03 24")]
    [InlineData("0402 04 00")]
    [InlineData("0402 05 00")]
    [InlineData("0402 08 02")]
    [InlineData("0404 01 00 01 00")]
    public void Settings_of_http2_repeated_ones_and_wrong_values_are_errors(string hex) => Says("Error 109", hex);

    [Theory]
    [Trait("Rfc", "9114-7.1")]
    [InlineData("0401 01")]
    [InlineData("0403 01 00 40")]
    [InlineData("0402 01 40")]
    [InlineData("0400 0702 00 00")]
    [InlineData("0400 0701 40")]
    [InlineData("0400 0d02 00 00")]
    [InlineData("0400 800f0700 01 40")]
    public void Payloads_that_their_fields_do_not_fill_are_errors(string hex) => EndsWith("Error 106", hex);

    [Fact]
    [Trait("Rfc", "9114-5.2")]
    [Trait("Rfc", "9114-7.2.6")]
    public void A_goaway_names_no_larger_identifier_than_the_one_before()
    {
        EndsWith("GoAway 9\nGoAway 9\nGoAway 0\nNeedMore", "0400 0701 09 0702 4009 0701 00");
        EndsWith("GoAway 5\nError 108", "0400 0701 05 0701 06");
    }

    [Fact]
    [Trait("Rfc", "9114-7.2.6")]
    public void A_servers_goaway_names_a_request()
    {
        Assert.EndsWith("GoAway 8\nNeedMore", Description("0400 0701 08", isServer: false), StringComparison.Ordinal);
        Assert.EndsWith("Error 108", Description("0400 0701 09", isServer: false), StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Rfc", "9114-7.2.7")]
    public void A_maximum_push_id_cannot_be_reduced()
    {
        EndsWith("MaxPushId 9\nMaxPushId 9\nMaxPushId 10\nNeedMore", "0400 0d01 09 0d01 09 0d01 0a");
        EndsWith("MaxPushId 9\nError 108", "0400 0d01 09 0d01 08");
    }

    [Theory]
    [Trait("Rfc", "9114-7.2.3")]
    [Trait("Rfc", "9218-7.2")]
    [InlineData("0301 00")]
    [InlineData("0d01 09 0301 01")]
    [InlineData("800f0701 01 00")]
    public void What_was_never_promised_cannot_be_cancelled_or_prioritized(string hex) => EndsWith("Error 108", "0400" + hex);

    [Fact]
    [Trait("Rfc", "9218-7.2")]
    public void A_priority_update_names_a_request_and_its_priority()
    {
        EndsWith("PriorityUpdate 4 StreamPriority { Urgency = 1, Delivery = Incremental }\nNeedMore", "0400 800f0700 07 04 753d312c2069");
        EndsWith("PriorityUpdate 8 StreamPriority { Urgency = 3, Delivery = Whole }\nNeedMore", "0400 800f0700 01 08");
        EndsWith("Error 108", "0400 800f0700 01 05");
        EndsWith("Error 108", "0400 800f0700 01 02");
    }

    [Fact]
    [Trait("Rfc", "9114-9")]
    public void Unknown_frames_are_named_so_that_they_can_be_counted() => EndsWith("Unknown\nUnknown\nNeedMore", "0400 2100 4a0b 05 0102030405");

    [Fact]
    public void Streams_in_pieces_are_read_as_by_the_reference() => Cases.Run(10_000, random =>
    {
        bool isServer = random.Next(3) > 0;
        byte[] bytes = Http3Generator.Stream(random, isServer ? 2 : 3);
        Assert.Equal(
            (isServer, Convert.ToHexString(bytes), ReferenceHttp3.Control(bytes, isServer)),
            (isServer, Convert.ToHexString(bytes), Http3Description.Control(bytes, isServer, () => random.Next(1, 20))));
    });

    [Fact]
    public void The_generator_makes_every_event_and_error_there_is()
    {
        var seen = new HashSet<string>();
        for (int seed = 0; seed < 5_000; seed++)
        {
            byte[] bytes = Http3Generator.Stream(new Random(seed), seed % 3 == 0 ? 3 : 2);
            string[] lines = ReferenceHttp3.Control(bytes, seed % 3 != 0).Split('\n');
            seen.UnionWith(lines.Select(line => line.StartsWith('E') ? line : line.Split(' ')[0]));
        }

        string[] errors = ["Error 105", "Error 106", "Error 107", "Error 108", "Error 109", "Error 10a"];
        Assert.Equal(Enum.GetNames<Http3ControlEvent>().Except(["Error"]).Concat(errors).Order(), seen.Order());
    }

    private static string Description(string hex, bool isServer = true) => Http3Description.Control(Blocks.Bytes(hex), isServer, () => 1);

    private static void Says(string expected, string hex) =>
        Assert.Equal(expected, Description(hex).Replace("\nNeedMore", "", StringComparison.Ordinal));

    private static void EndsWith(string expected, string hex) => Assert.EndsWith(expected, Description(hex), StringComparison.Ordinal);
}
