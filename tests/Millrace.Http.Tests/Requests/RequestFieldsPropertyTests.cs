namespace Millrace.Http.Tests;

public class RequestFieldsPropertyTests
{
    /// <summary>The results for the fields of an HTTP/2 request.</summary>
    private static readonly HeadRefusal[] OfFields =
    [
        .. Enum.GetValues<HeadRefusal>().Where(static refusal => refusal is >= HeadRefusal.UnknownPseudoField and <= HeadRefusal.BadAuthority),
        HeadRefusal.None, HeadRefusal.BadMethod, HeadRefusal.BadFieldName, HeadRefusal.BadFieldValue, HeadRefusal.MissingHost,
        HeadRefusal.RepeatedHost, HeadRefusal.BadHost, HeadRefusal.BadContentLength, HeadRefusal.RepeatedContentLength,
        HeadRefusal.RequestLineTooLong, HeadRefusal.HeadTooLarge, HeadRefusal.TooManyFields, HeadRefusal.MethodTooLong,
    ];

    [Fact]
    public void Fields_become_what_the_reference_makes_of_them() => Cases.Run(8_000, random =>
    {
        HeadLimits limits = Limits(random);
        List<(string Name, string Value)> list = FieldsGenerator.Any(random);
        Assert.Equal(
            (string.Join('|', list), ReferenceFields.Describe(list, limits)),
            (string.Join('|', list), FieldsDescription.Of(new RequestFields(limits), list, limits)));
        Assert.Equal(
            (string.Join('|', list), ReferenceFields.Describe(list, limits, isHttp3: true)),
            (string.Join('|', list), FieldsDescription.Of(new RequestFields(limits), list, limits, isHttp3: true)));
    });

    [Fact]
    public void The_generator_makes_every_refusal_there_is()
    {
        // Otherwise agreement with the reference would say nothing about the refusals that never came up.
        var seen = new HashSet<string>();
        int whole = 0;
        for (int seed = 0; seed < 20_000; seed++)
        {
            var random = new Random(seed);
            HeadLimits limits = Limits(random);
            string described = ReferenceFields.Describe(FieldsGenerator.Any(random), limits);
            bool isRefused = described.StartsWith("refused", StringComparison.Ordinal);
            seen.Add(isRefused ? described["refused ".Length..] : "None");
            whole += isRefused ? 0 : 1;
        }

        Assert.Equal(OfFields.Select(static refusal => $"{refusal}").Order(StringComparer.Ordinal), seen.Order(StringComparer.Ordinal));
        Assert.True(whole > 2_000, $"only {whole} requests were well-formed");
    }

    [Fact]
    public void One_sink_takes_one_request_after_the_other() => Cases.Run(500, random =>
    {
        HeadLimits limits = Limits(random);
        var fields = new RequestFields(limits);
        for (int request = 0; request < 5; request++)
        {
            List<(string Name, string Value)> list = FieldsGenerator.Any(random);
            Assert.Equal(ReferenceFields.Describe(list, limits), FieldsDescription.Of(fields, list, limits));
        }
    });

    private static HeadLimits Limits(Random random)
        => random.Next(3) == 0 ? new HeadLimits(requestLineBytesMax: 64, headBytesMax: 128, fieldsMax: 4) : HeadLimits.Default;
}
