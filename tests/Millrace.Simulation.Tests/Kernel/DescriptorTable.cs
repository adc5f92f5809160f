namespace Millrace.Simulation.Tests.Kernel;

/// <summary>The descriptors of the simulated process: of all reactors, as a connection may be accepted on one and served on another.</summary>
internal sealed class DescriptorTable
{
    /// <summary>No descriptor of this process: what slips past the seam meets EBADF, not somebody's file.</summary>
    private const int FirstDescriptor = 1 << 28;

    private readonly List<object?> _open = [];

    public int Count => _open.Count(static open => open is not null);

    public object? At(int descriptor)
    {
        int index = descriptor - FirstDescriptor;
        return index >= 0 && index < _open.Count ? _open[index] : null;
    }

    /// <summary>The lowest that is free, as the kernel does: it was somebody's before.</summary>
    public int Add(object owner)
    {
        int index = _open.IndexOf(null);
        if (index < 0)
        {
            index = _open.Count;
            _open.Add(null);
        }

        _open[index] = owner;
        return FirstDescriptor + index;
    }

    public void Remove(int descriptor) => _open[descriptor - FirstDescriptor] = null;
}
