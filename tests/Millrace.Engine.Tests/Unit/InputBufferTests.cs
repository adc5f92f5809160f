using System.Runtime.InteropServices;
using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Unit.Kit;

namespace Millrace.Engine.Tests.Unit;

public unsafe class InputBufferTests
{
    [Fact]
    [Trait("Duration", "Full")]
    public void It_is_a_queue_of_bytes_whatever_is_done_to_it() => Seeds.ForEach(60, random =>
    {
        using var watched = new WatchedInput(random);
        for (int step = 0; step < 150; step++)
        {
            watched.DoSomething();
        }

        watched.End();
    });

    [Fact]
    public void An_empty_one_holds_no_memory()
    {
        using var pools = new BlockPools();
        InputBuffer input = default;
        Assert.Equal(0, input.Count);
        Assert.True(input.Bytes.IsEmpty);

        input.Append("abc"u8, pools);
        Assert.Equal(1, pools.Lent);
        input.Consume(2, pools);
        Assert.Equal(1, pools.Lent);
        input.Consume(1, pools);

        Assert.Equal(0, pools.Lent);
    }

    [Fact]
    public void Borrowed_bytes_are_shown_where_they_lie_and_cost_no_memory_when_consumed()
    {
        using var pools = new BlockPools();
        InputBuffer input = default;
        byte* received = stackalloc byte[] { (byte)'a', (byte)'b', (byte)'c' };

        input.Borrow(received, 3);
        Assert.True(received == input.Address);
        input.Consume(1, pools);
        Assert.True(received + 1 == input.Address);
        input.Consume(2, pools);
        input.Settle(pools);

        Assert.Equal((0, 0), (input.Count, pools.Lent));
    }

    [Fact]
    public void What_was_not_consumed_of_borrowed_bytes_becomes_its_own()
    {
        using var pools = new BlockPools();
        InputBuffer input = default;
        byte* received = stackalloc byte[] { (byte)'a', (byte)'b', (byte)'c' };

        input.Borrow(received, 3);
        input.Consume(1, pools);
        input.Settle(pools);
        new Span<byte>(received, 3).Clear();

        Assert.Equal("bc"u8.ToArray(), input.Bytes.ToArray());
        Assert.Equal(1, pools.Lent);
        input.Clear(pools);
        Assert.Equal(0, pools.Lent);
    }

    [Fact]
    public void Held_bytes_stay_where_they_are_while_the_input_outgrows_block_after_block()
    {
        using var pools = new BlockPools();
        InputBuffer input = default;
        byte[] large = new byte[100_000];
        input.Append("held"u8, pools);
        input.Hold();
        var shown = new ReadOnlySpan<byte>(input.Address, 4);

        for (int i = 0; i < 4; i++)
        {
            input.Append(large, pools);
        }

        Assert.Equal("held"u8.ToArray(), shown.ToArray());
        Assert.Equal(400_004, input.Count);
        Assert.True(pools.Lent > 1);
        input.Release(pools);
        Assert.Equal(1, pools.Lent);
        Assert.False(input.IsHeld);
        input.Clear(pools);
        Assert.Equal(0, pools.Lent);
    }

    [Fact]
    public void Held_bytes_that_were_consumed_go_with_the_release()
    {
        using var pools = new BlockPools();
        InputBuffer input = default;
        input.Append("held"u8, pools);
        input.Hold();

        input.Consume(4, pools);
        Assert.Equal((0, 1), (input.Count, pools.Lent));
        input.Release(pools);

        Assert.Equal((0, 0), (input.Count, pools.Lent));
    }

    [Fact]
    public void Input_that_comes_byte_by_byte_is_moved_only_as_often_as_it_doubles()
    {
        using var pools = new BlockPools();
        InputBuffer input = default;
        int moves = 0;
        byte* before = null;
        for (int i = 0; i < 1_000_000; i++)
        {
            input.Append([(byte)i], pools);
            moves += input.Address == before ? 0 : 1;
            before = input.Address;
        }

        // 4 KiB, 32 KiB, 256 KiB, and from there on twice as much each time.
        Assert.InRange(moves, 1, 5);
        input.Clear(pools);
    }

    /// <summary>An input and its model, a list of bytes, compared after each of a random row of calls as the engine makes them.</summary>
    private sealed class WatchedInput(Random random) : IDisposable
    {
        private const int ReceivedMax = 20_000;

        private readonly BlockPools _pools = new();
        private readonly byte* _received = (byte*)NativeMemory.AllocZeroed(ReceivedMax);
        private readonly List<byte> _model = [];
        private InputBuffer _input;
        private bool _borrowed;
        private byte* _heldAt;
        private byte[]? _heldBytes;

        public void DoSomething()
        {
            switch (random.Next(6))
            {
                case 0 when !_borrowed && !_input.IsHeld && _input.Count == 0:
                    Borrow();
                    break;
                case 1 or 2 when !_borrowed:
                    byte[] bytes = NewBytes(random.NextSize(random.Next(30) == 0 ? 400_000 : 9_000));
                    _input.Append(bytes, _pools);
                    _model.AddRange(bytes);
                    break;
                case 3 when !_borrowed && _heldBytes is null:
                    Hold();
                    break;
                case 4 when _heldBytes is not null:
                    Release();
                    break;
                default:
                    Consume(random.Next(3) == 0 ? _model.Count : random.Next(_model.Count + 1));
                    break;
            }

            Check();
            Settle();
        }

        public void End()
        {
            Release();
            _input.Clear(_pools);
            _model.Clear();
            Check();
            Assert.Equal(0, _pools.Lent);
        }

        public void Dispose()
        {
            _pools.Dispose();
            NativeMemory.Free(_received);
        }

        private void Borrow()
        {
            byte[] bytes = NewBytes(random.NextSize(ReceivedMax));
            bytes.CopyTo(new Span<byte>(_received, ReceivedMax));
            _input.Borrow(_received, bytes.Length);
            _model.AddRange(bytes);
            _borrowed = true;
        }

        /// <summary>Half of the time at once; then the kernel writes to the receive buffer again.</summary>
        private void Settle()
        {
            if (_borrowed && random.Next(2) == 0)
            {
                _input.Settle(_pools);
                _borrowed = false;
                new Span<byte>(_received, ReceivedMax).Fill(0xdd);
                Check();
            }
        }

        private void Consume(int count)
        {
            _input.Consume(count, _pools);
            _model.RemoveRange(0, count);
        }

        private void Hold()
        {
            _input.Hold();
            _heldAt = _input.Address;
            _heldBytes = _input.Bytes.ToArray();
        }

        private void Release()
        {
            _input.Release(_pools);
            _heldBytes = null;
        }

        private void Check()
        {
            SpoilFreeBlocks();
            Assert.Equal(_model.Count, _input.Count);
            Assert.True(_input.Bytes.SequenceEqual(CollectionsMarshal.AsSpan(_model)));
            Assert.True(_heldBytes is null || new ReadOnlySpan<byte>(_heldAt, _heldBytes.Length).SequenceEqual(_heldBytes));
            Assert.True(_pools.Lent <= 1 || _heldBytes is not null);
            if (_input.Count == 0 && _heldBytes is null)
            {
                Assert.Equal(0, _pools.Lent);
            }
        }

        /// <summary>What was given back is another's, who writes to it.</summary>
        private void SpoilFreeBlocks()
        {
            foreach (int bytes in (int[])[BlockPools.SmallBytes, BlockPools.ResponseBytes, BlockPools.ChunkBytes])
            {
                Block first = _pools.Rent(bytes);
                Block second = _pools.Rent(bytes);
                new Span<byte>(first.Address, 4096).Fill(0xdd);
                new Span<byte>(second.Address, 4096).Fill(0xdd);
                _pools.Return(second);
                _pools.Return(first);
            }
        }

        private byte[] NewBytes(int count)
        {
            byte[] bytes = new byte[count];
            random.NextBytes(bytes);
            return bytes;
        }
    }
}
