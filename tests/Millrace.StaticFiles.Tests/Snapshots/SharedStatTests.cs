using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Stat results that the responses of one loop iteration share.</summary>
public sealed class SharedStatTests : IDisposable
{
    private const int Descriptor = 7;

    /// <summary>A descriptor whose result is kept in the same place.</summary>
    private const int Neighbour = Descriptor + 1024;

    private readonly ChangingFiles _files = new();
    private readonly TempSite _folder = new();
    private readonly Site _site;
    private readonly SiteBinding _binding;

    public SharedStatTests()
    {
        _site = _folder.OpenUnwatched();
        _binding = new SiteBinding(_site, _files);
    }

    public void Dispose()
    {
        _binding.Dispose();
        _site.Dispose();
        _folder.Dispose();
    }

    [Fact]
    public void A_file_has_one_stat_per_iteration()
    {
        Assert.Equal([1, 1, 1], [SizeAt(1), SizeAt(1), SizeAt(1)]);
        Assert.Equal([2, 2], [SizeAt(2), SizeAt(2)]);
    }

    [Fact]
    public void A_stat_of_one_file_says_nothing_of_another()
    {
        Assert.Equal([1, 2, 3], [SizeAt(1), SizeAt(1, Neighbour), SizeAt(1)]);
    }

    [Fact]
    public void A_new_snapshot_may_have_other_files_under_the_same_descriptors()
    {
        Assert.Equal(1, SizeAt(1));
        _site.Catalog.Reload();
        _binding.AcquireLatest();
        Assert.Equal(2, SizeAt(1));
    }

    [Fact]
    public void A_stat_that_failed_is_tried_again()
    {
        _files.Fails = true;
        Assert.Equal(-5, _binding.Stat(Descriptor, 1, out _));
        _files.Fails = false;
        Assert.Equal(2, SizeAt(1));
    }

    private long SizeAt(long iteration, int descriptor = Descriptor)
    {
        Assert.Equal(0, _binding.Stat(descriptor, iteration, out FileState state));
        return state.Size;
    }

    /// <summary>Each stat gives another size: how many there were.</summary>
    private sealed class ChangingFiles : AssetFiles
    {
        private long _checks;

        public bool Fails { get; set; }

        public override int Stat(int descriptor, out FileState state)
        {
            state = new FileState { Size = ++_checks };
            return Fails ? -5 : 0;
        }
    }
}
