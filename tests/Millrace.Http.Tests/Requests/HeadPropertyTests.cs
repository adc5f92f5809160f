namespace Millrace.Http.Tests;

public class HeadPropertyTests
{
    [Fact]
    public void The_parser_agrees_with_the_reference_on_valid_heads()
        => Cases.Run(15_000, random => Compare(HeadGenerator.Valid(random), random));

    [Fact]
    public void The_parser_agrees_with_the_reference_on_mutated_heads()
        => Cases.Run(30_000, random => Compare(HeadGenerator.Mutated(random), random));

    [Fact]
    public void The_parser_agrees_with_the_reference_on_noise()
        => Cases.Run(30_000, random => Compare(HeadGenerator.Noise(random), random));

    [Fact]
    public void The_generator_makes_every_result_there_is()
    {
        // Otherwise agreement with the reference would say nothing about the results that never came up.
        var seen = new HashSet<HeadRefusal>();
        var head = new RequestHead();
        int complete = 0;
        for (int seed = 0; seed < 30_000; seed++)
        {
            var random = new Random(seed);
            byte[] bytes = HeadGenerator.Any(random);
            HeadResult result = RequestHeadParser.Parse(bytes, head, HeadGenerator.Limits(random));
            seen.Add(result.Refusal);
            complete += result.IsComplete ? 1 : 0;
        }

        Assert.Equal(
            Enum.GetValues<HeadRefusal>().Where(static refusal => refusal < HeadRefusal.BadStatusLine
                && refusal is < HeadRefusal.UnknownPseudoField or > HeadRefusal.BadAuthority),
            seen.Order());
        Assert.True(complete > 5_000, $"only {complete} heads were complete");
    }

    [Fact]
    public void Any_split_of_the_bytes_ends_in_the_same_result() => Cases.Run(1_500, random =>
    {
        byte[] bytes = HeadGenerator.Any(random);
        HeadLimits limits = HeadGenerator.Limits(random);
        var head = new RequestHead();
        string whole = Describe(bytes, head, limits);
        string decided = "incomplete";
        for (int length = 0; length <= bytes.Length; length++)
        {
            // Every call starts over, so a split is a series of prefixes; once one is decided all longer ones must agree.
            string now = Describe(bytes[..length], head, limits);
            Assert.True(decided == "incomplete" || decided == now, $"{length} bytes: {decided} became {now}");
            decided = now;
        }

        Assert.Equal(whole, decided);
    });

    [Fact]
    public void A_caller_that_waits_until_a_head_may_be_decided_misses_nothing() => Cases.Run(5_000, random =>
    {
        byte[] bytes = HeadGenerator.Any(random);
        HeadLimits limits = HeadGenerator.Limits(random);
        var head = new RequestHead();
        HeadResult whole = RequestHeadParser.Parse(bytes, head, limits);

        HeadResult waiting = default;
        for (int length = 0, scanned = 0; waiting.IsIncomplete && length < bytes.Length;)
        {
            length = Math.Min(bytes.Length, length + random.Next(1, 30));
            if (RequestHeadParser.MayBeDecided(bytes.AsSpan(0, length), scanned, limits))
            {
                waiting = RequestHeadParser.Parse(bytes.AsSpan(0, length), head, limits);
            }

            scanned = length;
        }

        bool isLineMissing = whole.IsRefused && waiting.IsIncomplete && HeadRefusals.StatusOf(whole.Refusal) is 400 or 505 or 431;
        Assert.True(waiting == whole || (isLineMissing && whole.Refusal != HeadRefusal.HeadTooLarge), $"{waiting} is not {whole}");
    });

    [Fact]
    public void Bytes_after_a_head_do_not_change_it() => Cases.Run(3_000, random =>
    {
        byte[] bytes = HeadGenerator.Valid(random);
        var head = new RequestHead();
        HeadResult result = RequestHeadParser.Parse(bytes, head, HeadLimits.Default);
        byte[] longer = [.. bytes, .. HeadGenerator.Noise(random)];
        Assert.Equal(result, result.IsIncomplete ? result : RequestHeadParser.Parse(longer, head, HeadLimits.Default));
    });

    private static void Compare(byte[] bytes, Random random)
    {
        HeadLimits limits = HeadGenerator.Limits(random);
        Assert.Equal(ReferenceParser.Describe(bytes, limits), Describe(bytes, new RequestHead(), limits));
    }

    private static string Describe(byte[] bytes, RequestHead head, HeadLimits limits)
        => HeadDescription.Of(RequestHeadParser.Parse(bytes, head, limits), head, bytes);
}
