namespace Millrace.Interop.Tests.Abi;

/// <summary>
/// Every size, offset and constant of Interop against the values committed in the tables, which speak for x64 and arm64 and stand
/// alone where there is no compiler, and against the headers of this machine. (The file calls' own are tested with the files.)
/// </summary>
public class KernelAbiTests
{
    private static readonly AbiEntry[] Table = AbiEntry.Of(
        RingAbi.Structures, RingAbi.Constants, SocketAbi.Structures, SocketAbi.Constants, SocketAbi.Errors,
        WatchAbi.Structures, WatchAbi.Constants, WatchAbi.FileSystems, EpollAbi.Constants,
        SeccompAbi.Structures, SeccompAbi.Constants);

    [Fact]
    public void Ours_are_the_committed_values()
    {
        IReadOnlyDictionary<string, long> ours = OurAbi.Read();

        Assert.All(Table, entry => Assert.True(
            ours.TryGetValue(entry.Ours, out long value) && value == entry.Value, $"{entry} is {entry.Value}, ours {value}"));
    }

    [Fact]
    public async Task Ours_are_the_values_of_the_headers_as_far_as_these_know_them()
    {
        IReadOnlyDictionary<string, long> ours = OurAbi.Read();
        IReadOnlyDictionary<AbiEntry, long>? headers = await KernelHeaders.AskAsync(Table);

        // A name that has always been there is answered wherever there are headers at all.
        Assert.True(headers is null || Table.All(entry => entry.Since is not null || headers.ContainsKey(entry)));
        Assert.All(Table, entry =>
        {
            long expected = headers is not null && headers.TryGetValue(entry, out long value) ? value : entry.Value;
            Assert.True(ours[entry.Ours] == expected, $"{entry} is {expected}, ours {ours[entry.Ours]}");
        });
    }

    [Fact]
    public void Nothing_of_ours_is_missing_in_the_tables()
    {
        Assert.Empty(OurAbi.Read().Keys.Except(Table.Select(entry => entry.Ours)));
        Assert.Equal(Table.Length, Table.Select(entry => entry.Ours).Distinct().Count());
    }
}
