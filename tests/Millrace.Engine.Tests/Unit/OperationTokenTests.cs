using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Unit.Kit;

namespace Millrace.Engine.Tests.Unit;

public class OperationTokenTests
{
    [Theory]
    [InlineData(0u, 0)]
    [InlineData(1u, 1)]
    [InlineData(0xFF_FFFFu, int.MaxValue)]
    [InlineData(0x80_0000u, -1)]
    [InlineData(7u, int.MinValue)]
    [InlineData(0xFF_FFFFu, -1)]
    public void What_goes_in_comes_out(uint generation, int slot)
    {
        foreach (OperationKind kind in Enum.GetValues<OperationKind>())
        {
            var sent = new OperationToken(kind, generation, slot);
            var returned = new OperationToken(sent.Value);

            Assert.Equal((kind, generation, slot), (returned.Kind, returned.Generation, returned.Slot));
            Assert.Equal(sent, returned);
        }
    }

    [Fact]
    public void Any_token_survives_the_way_through_the_kernel() => Seeds.ForEach(1_000, random =>
    {
        var kind = (OperationKind)random.Next(256);
        uint generation = (uint)random.Next() & OperationToken.GenerationMask;
        int slot = random.Next(int.MinValue, int.MaxValue);

        var token = new OperationToken(new OperationToken(kind, generation, slot).Value);

        Assert.Equal((kind, generation, slot), (token.Kind, token.Generation, token.Slot));
    });

    [Fact]
    public void A_generation_wraps_around_without_touching_its_neighbours()
    {
        foreach (OperationKind kind in Enum.GetValues<OperationKind>())
        {
            var last = new OperationToken(kind, OperationToken.GenerationMask, 5);
            var wrapped = new OperationToken(kind, OperationToken.GenerationMask + 1, 5);

            Assert.Equal((kind, 0u, 5), (wrapped.Kind, wrapped.Generation, wrapped.Slot));
            Assert.NotEqual(last, wrapped);
            Assert.Equal(new OperationToken(kind, 0, 5), wrapped);
        }
    }

    [Fact]
    public void Tokens_differ_when_any_part_of_them_does()
    {
        OperationToken[] tokens =
        [
            .. from kind in Enum.GetValues<OperationKind>()
               from generation in (uint[])[0, 1, OperationToken.GenerationMask]
               from slot in (int[])[0, 1, 65_535, int.MaxValue, -1]
               select new OperationToken(kind, generation, slot),
        ];

        Assert.Equal(tokens.Length, tokens.Select(token => token.Value).Distinct().Count());
        // The wake of a backend is the token of value 0, which no operation can have.
        Assert.Equal(OperationKind.None, tokens.Single(token => token.Value == 0).Kind);
    }
}
